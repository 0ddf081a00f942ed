"""What is said to the program rather than asked of the documents, and what cannot be searched as it stands.

Whole messages are recognised, never a word inside one: "hello" is a greeting, "hello, what was revenue
in 2024?" is a question with one in front.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from agent.cognition.surface import has_cjk, pieces

_GREETINGS = (
    "hi|hello|hey|hiya|howdy|greetings|hi there|hello there|hey there|good morning|good afternoon|"
    "good evening|how are you|how are you today|how is it going|whats up|nice to meet you|hallo|"
    "guten tag|guten morgen|guten abend|moin|servus|grüezi|wie geht es dir|wie gehts|bonjour|bonsoir|"
    "salut|ça va|hola|buenos días|buenas tardes|ciao|"
    "你好|您好|嗨|早上好|晚上好|こんにちは|おはよう|안녕하세요"
).split("|")
_THANKS = (
    "thanks|thank you|thank you very much|thanks a lot|many thanks|thx|ty|cheers|great|great thanks|"
    "perfect|nice|cool|ok|okay|ok thanks|got it|i see|well done|good job|that helps|bye|goodbye|"
    "see you|good night|danke|danke schön|vielen dank|super danke|tschüss|auf wiedersehen|merci|"
    "merci beaucoup|au revoir|gracias|muchas gracias|adiós|谢谢|谢谢你|多谢|再见|好的|ありがとう|감사합니다"
).split("|")
_ABOUT_US = (
    "what can you do|what can you do for me|what do you do|what can i ask|what can i ask you|"
    "what can i do here|what are you|who are you|what is this|whats this|how do you work|"
    "how does this work|how can you help me|can you help me|help|help me|which documents do you have|"
    "what documents do you have|which files do you have|what files do you know|was kannst du|"
    "was kannst du tun|was kann ich fragen|wer bist du|hilfe|que peux tu faire|qui es tu|aide|"
    "qué puedes hacer|quién eres|ayuda|你能做什么|你可以做什么|你会什么|你是谁|帮助"
).split("|")
_LAST = r"(?:(?:last|first|previous|earlier|latest|other) )?"
_SAID = (
    rf"(?:that|this|it|(?:your|the|my) {_LAST}(?:answer|reply|question|response)|what you (?:just )?said|"
    "the above)"
)
_HOW = (
    r"(?: (?:again|please|for me|once more|one more time|shorter|more (?:briefly|simply|clearly)|briefly|"
    r"in other words|in your own words|(?:in|into|as|to) (?:a |an |one |two |three |\d |simple |"
    r"simpler |plain |"
    r"bullet |short |shorter |fewer )*[a-zäöü]+))*"
)
_CONVERSATION = re.compile(
    rf"(?:what|which question|which) (?:did|was|were|have) (?:i|my|we|you|your) "
    rf"(?:{_LAST}(?:question|answer|request)"
    r"|(?:just )?(?:ask|asked|say|said|answer|answered|tell|told|talk|talking)(?: you| me| about)*)"
    r"(?: (?:just now|before|earlier|first|last|again|so far))?"
    rf"|(?:please )?(?:(?:can|could|would|will) you )?(?:please )?(?:repeat|rephrase|reword|"
    rf"shorten|simplify|translate|"
    rf"summari[sz]e|condense|expand on|reformat|format|explain|say|put|write|make|give|show) (?:me "
    rf")?{_SAID}{_HOW}"
    r"|(?:a bit |much |even )?(?:shorter|longer|simpler|briefer|more briefly|more simply)(?: "
    r"please| version)*"
    r"|(?:again|once more|one more time|in (?:one|two|three|a few) (?:sentences?|words?)|in "
    r"(?:english|german|french|"
    r"spanish|chinese|japanese|italian)|(?:as )?(?:a )?(?:table|bullet points|list))(?: please)?"
    r"|was (?:habe|hab) ich (?:(?:dich|dir) )?(?:gerade |eben |zuletzt |vorher )*gefragt"
    r"|was war meine (?:letzte|erste|vorige) frage"
    r"|(?:bitte )?(?:wiederhole?|kürze?|übersetze?|fasse?|erkläre?|sag|sage|formuliere?) (?:das|es|"
    r"deine (?:letzte )?antwort)"
    r"(?: (?:bitte|noch ?mal|nochmals|kürzer|einfacher|zusammen|um|anders|(?:auf|in|ins) \w+))*"
    r"|(?:bitte )?(?:kürzer|einfacher|noch ?mal|auf (?:deutsch|englisch|französisch))(?: bitte)?"
    r"|我(?:刚才|刚刚|之前|上次)?(?:问|说)(?:了|的是|的)?(?:什么|啥)(?:问题)?|(?:请)?(?:再说|重复|再重复)一(?:遍|下|次)"
    r"|(?:请)?(?:简短|简单|短)一?(?:点|些)|(?:请)?(?:用|翻译成|译成)(?:中文|英文|英语|德语)(?:回答|说)?"
    r"|(?:请)?总结一?下?(?:你的)?(?:上面的|刚才的)?回答"
)
_COURTESY = re.compile(
    r"\A(?:(?:hi|hello|hey|thanks|thank you|thx|ok|okay|great|perfect|danke|vielen dank|hallo|"
    r"merci|bonjour|你好|谢谢)"
    r"(?: there| again| a lot| so much| very much)?\s*[,.!;:–，。！-]+\s*)+",
    re.IGNORECASE,
)
_GOING_ON = re.compile(
    r"(?:and|or|but|also|what about|how about|same for|und|oder|aber|et|y|pero|mais)\b(?! (?:who|"
    r"what|which|when|"
    r"where|why|how|is|was|are|were|do|does|did|has|have|can|wer|was|wann|wo|warum|wie|welche\w*|"
    r"qui|que|quand|"
    r"pourquoi|comment|quién|qué|cuándo|cómo)\b)",
    re.IGNORECASE,
)
_LONGEST_PIECE = 6  # words
_EMPTY_WORDS = frozenset(
    "a about actually again all also am an and another any anything are as at be been being but by "
    "can case "
    "change changed compare compared continue could details detail did difference do does doing each else "
    "elaborate even every everything exactly example explain few figure figures first for from further get "
    "give go going good had happen happened happening happens has have he her hers high him his how if "
    "important in info information into is it its just kind know large last less like list little long low "
    "many matter me mean meaning means might mine more most much my name next no not now number numbers of "
    "off ok okay old on one ones only or other others our out over part please point previous problem "
    "question quite really reason same say second see she should show similar situation so some someone "
    "something sort still stuff such sure tell than that the their them then there these they thing things "
    "think third this those to too true two under until up us use version very want was way we well were "
    "what whats when where whether which while who whom whose why will with would year years month quarter "
    "week day time yes yet you your "
    "auch auf aus bei da das dem den denn der des die dies diese dieser dieses ein eine er es für "
    "genau gibt "
    "hat hatte ich im ihr in ist ja jahr kann letzte letztes man mehr mit nach nein nicht noch nun "
    "oder sie "
    "sind so und viel viele von vom vorher wann war waren warum was weiter welche welcher welches wem wen "
    "wer wie wieso wieviel wo woher zu zum zweite andere anderen anderes "
    "autre combien comment elle en encore est et il le la les où pourquoi quand que quel quelle quoi qui "
    "cuál cuándo cuánto cómo dónde el ello eso esto los otra otro por qué quién y más".split()
)
"""Words that say nothing about what is meant."""
_POINTING = frozenset(
    "it its they them their theirs he him his she her hers this these those that er ihn ihm ihr "
    "sie deren dessen "
    "dies diese dieser dieses il elle lui leur eso esto ello".split()
)
_NEAR_PERIODS = frozenset("year years month quarter week day time jahr quartal monat".split())
_EMPTY_SIGNS = re.compile(
    "[那这個个它他她们們呢吗嗎是的怎么麼样什甚为為何多少几還还有另一外哪谁誰里在和了嘛啊年月日去今明前后後上下次请請再说說点點"
    "详細细如时時没不就都也其中要我你想知道告诉情况发生"
    "それこのあはをがなにでもうかいくらつのともっどしてとですますょりほ？?！!。，、,.\\s\\d\\W]"
)


def is_talk(text: str) -> str:
    """What kind of talk the whole message is, as a short sentence for people; "" if it is none."""
    parts = [_plain(part) for part in re.split(r"[,.!;，。！]+", text)]
    kinds = [_kind_of_talk(part) for part in parts if part]
    return kinds[-1] if kinds and all(kinds) else ""


def without_courtesy(text: str) -> str:
    """``text`` without the greeting or the thanks in front of it."""
    return _COURTESY.sub("", text.strip()) or text.strip()


def names_nothing(text: str) -> bool:
    """True if nobody could search for it: no name and no content, or a pronoun in place of either.

    "And in 2022?", "how much?", "what does it cost" and "那个呢？" name nothing; "what was revenue?" does.
    """
    if has_cjk(text):
        return not _EMPTY_SIGNS.sub("", text)
    if any(piece.kind == "name" for piece in pieces(text)):
        return False
    content = content_words(text)
    return not content or (len(content) == 1 and points_back(text))


def content_words(text: str) -> list[str]:
    """The words that say what is meant, in lower case; neither names nor periods."""
    said = [piece.text.casefold() for piece in pieces(text) if piece.kind == "word"]
    return [word for word in said if word not in _EMPTY_WORDS and not word.isdigit()]


def points_back(text: str) -> bool:
    """True if a pronoun or "that plant" stands for something said before; not for "this year"."""
    return bool(pointers(text))


def pointers(text: str) -> list[str]:
    """The words that stand for something said before, as they stand, in order."""
    said = [piece.text for piece in pieces(text) if piece.kind == "word"]
    return [
        word
        for before, word, following in zip(["a", *said], said, [*said[1:], ""], strict=False)
        if word.casefold() in _POINTING
        and following.casefold() not in _NEAR_PERIODS
        # "The plant that burned" says itself what it means.
        and (word.casefold() != "that" or before.casefold() in _EMPTY_WORDS)
    ]


def goes_on(text: str) -> bool:
    """True for a piece that goes on from an earlier question: "and Graphics?", "what about costs"."""
    return _GOING_ON.match(text.strip()) is not None and len(text.split()) <= _LONGEST_PIECE


def _kind_of_talk(said: str) -> str:
    for phrases, reason in (
        (_GREETINGS, "It is a greeting."),
        (_THANKS, "It is a courtesy."),
        (_ABOUT_US, "It asks what the program can do."),
    ):
        if any(_is_nearly(said, phrase) for phrase in phrases):
            return reason
    return "It is about the conversation itself." if _CONVERSATION.fullmatch(said) else ""


def _plain(text: str) -> str:
    """Lower case, one space between words, no signs."""
    return " ".join(re.sub(r"['’]", "", re.sub(r"[^\w\s'’]", " ", text.casefold())).split())


def _is_nearly(said: str, phrase: str) -> bool:
    """The same but for a slip of the keyboard; short messages must be exact ("tanks" is no "thanks")."""
    if said == phrase:
        return True
    if min(len(said), len(phrase)) < 9 or abs(len(said) - len(phrase)) > 2 or has_cjk(said):
        return False
    return SequenceMatcher(None, said, phrase, autojunk=False).ratio() >= 0.9
