"""The forms of questions: which ask for one fact about one named thing, and which need several look-ups.

Both are told from the question's words alone (`agent.cognition.surface.skeleton`). What has neither form
is told from neither: most of all questions in a language that the forms below do not know.
"""

from __future__ import annotations

import re

from agent.cognition.surface import has_cjk, skeleton

_MOST_WORDS = 30  # longer questions carry conditions, whatever their form

# --- one fact: English, over the skeleton ----------------------------------------------------

_NOT_PLAIN = (
    "N|Y|the|a|an|and|or|who|whom|whose|what|which|when|where|why|how|that|of|by|to|with|in|on|at|"
    "for|from|as|than|"
    "while|if|is|was|are|were|do|does|did|has|have|had|will|can|would|should|s|this|it|its|they|"
    "their|he|his|she|"
    "her|them|him"
)
# A plain word: none of those, no possessive, and no "-ing", which often begins a clause.
_W = (
    rf"(?!(?:{_NOT_PLAIN})\b)"
    r"(?:operating|marketing|financing|manufacturing|[^\W_][\w'’&/.-]*(?<!ing)(?<!['’]s))"
)
_WHAT = rf"(?:the |a |an )?(?:{_W} ){{0,3}}{_W}"
_NAMED = rf"(?:the |a )?(?:{_W} ){{0,2}}N(?:'s N)?(?: {_W}){{0,2}}"
_THING = rf"(?:{_NAMED}|{_WHAT})"  # in a question typed without capitals, a name looks like any word
_PREPOSITION = "(?:in|on|at|by|for|from|to|with|as|into|out|up|off|part of|about|under)"
_WHEN = (
    "(?: ,? ?(?:in|during|for|at|on|as of|by|since|before|after|until)(?: (?:the|end|beginning|"
    "start|fiscal|"
    "financial|year|quarter|half|first|second|third|fourth|of|ended|month)){0,6} Y| Y|"
    " (?:last|this|next) (?:year|quarter|month)| today| right now| now| currently)?"
)
_BE = "(?:is|was|are|were)"
_DO = f"(?:do|does|did|has|have|had|will|can|would|should|{_BE})"
_TAIL = rf"(?: {_W}| {_PREPOSITION})"
_ONE_FACT = re.compile(
    "|".join(
        (
            # "Who is the director of Jaws?", "What was the net revenue of Orlavane in 2024?"
            rf"(?:who|what|which|how {_W}) {_BE} {_WHAT} (?:of|for|in|at|from) {_THING}{_WHEN}",
            # "What was Orlavane's gross margin in 2024?"
            rf"(?:who|what|which) {_BE} N's (?:N )?(?:{_W} ){{0,3}}{_W}{_WHEN}",
            # "In which country is Avelin?", "how many people did orlavane employ in 2024"
            rf"(?:(?:of|{_PREPOSITION}) )?(?:who|what|which|when|where|how)(?: {_W}){{0,4}} {_DO} {_THING}"
            rf"{_TAIL}{{0,5}}(?: {_PREPOSITION} (?:the )?N)?{_WHEN}",
            # "who has held the intercontinental championship the most times"
            rf"(?:(?:of|{_PREPOSITION}) )?(?:who|what|which|when|where|how)(?: {_W}){{0,4}} {_DO} "
            rf"(?:they|{_WHAT})(?: {_W}| {_PREPOSITION}| the| a){{0,9}}{_WHEN}",
            # "Which supplier was named in the Orlavane report?"
            rf"(?:who|(?:what|which)(?: {_W}){{1,3}}) {_BE} {_W}(?: {_W})? {_PREPOSITION} {_THING}{_WHEN}",
            # "Who chairs the audit committee of Orlavane?", "which company made jaws"
            rf"(?:who|(?:what|which|how)(?: {_W}){{1,3}}) {_W}(?: the| a| an)?(?: {_W}){{0,3}}"
            rf"(?: of| {_PREPOSITION})? {_THING}{_WHEN}",
            # "Does Orlavane make boilers?"
            rf"{_DO} {_NAMED}{_TAIL}{{1,6}}{_WHEN}",
        )
    )
)
# "orlavane revenue 2024", "Tolvang headquarters"
_KEYWORDS = re.compile(
    r"(?!.*\b(?:wer|wie|wo|wann|welche[rsnm]?|ist|sind|war|hat|der|die|das|den|dem|des|qui|que|"
    r"quel(?:le)?s?|où|est|"
    r"le|la|les|quién|qué|cuál|cuándo|dónde|es|el|los)\b)"
    rf"(?:(?:the )?(?:{_W} ){{0,3}})?(?:N|{_W})(?: (?:of|for|in) N)?(?: {_W}){{0,3}}(?: in)?(?: Y)?"
)
# Nouns with "of" that are one thing, so that theirs is no chain of "of".
_FIXED = re.compile(
    r"\b(?:(?:date|place|year|city|country|cause|state) of (?:birth|death|origin|citizenship|"
    r"residence|publication|"
    r"release|foundation|incorporation)|costs? of (?:sales|revenues?|goods sold)|board of directors|"
    r"(?:number|amount|percentage|percent|share|kind|type|name|title|rate|level|size) of)\b"
)
# "X公司2024年的净收入是多少": one possessive, and nothing that is itself described.
_ONE_FACT_CJK = re.compile(
    "[^的之、，,；;和与與及跟？?]{2,24}的"
    "(?!公司|企业|企業|厂|廠|人|供应商|供應商|国家|國家|城市|导演|導演|作者)[^的之、，,；;和与與及跟？?]{1,12}"
    "(?:是多少|是谁|是誰|是什么|是什麼|有多少|多少)[？?。]?"
)

# --- several look-ups ------------------------------------------------------------------------

_SEVERAL = "It asks for more than one thing."
_COMPARES = "It compares."
_WHOLE = "It asks for reasons, effects or an overview."
_BY_WAY_OF = "It names something only by way of something else."
_KIN = (
    r"\w*(?:grand(?:father|mother|parents?|son|daughter|child(?:ren)?)|"
    r"(?:father|mother|brother|sister|son|daughter)-in-law|"
    r"uncle|aunt|cousin|niece|nephew|step(?:father|mother|son|daughter|brother|sister))s?"
)
_MANY_FACTS = tuple(
    (re.compile(form), reason)
    for form, reason in (
        (r"\?.*\w.*\?", _SEVERAL),
        (
            r"(?:\band|,|;)(?: and)?(?: for| in| at| to| by| on)? "
            r"(?:who|whom|whose|what|which|when|where|why|how|was|were|is|are|did|does|do)\b",
            _SEVERAL,
        ),
        (r"\b(?:N(?:'s)?|Y)(?: [a-z]+)?,? and (?:the |in |for |of |by )?(?:N|Y)\b", _SEVERAL),
        (r"\b(?:respectively|as well as|all|every|each|trends?|over (?:time|the years))\b", _SEVERAL),
        (r"^(?:please )?(?:name|enumerate|list)\b|\blist (?:of|the)\b", _SEVERAL),
        (
            r"\b(?:compar\w+|versus|vs|differ\w*|similar\w*|in common|both|same|than|relative to|"
            r"between)\b",
            _COMPARES,
        ),
        (
            r"^(?:who|which|what|whose|is|are|was|were|did|does|do|has|have)\b.* or (?:the |a "
            r")?(?:N|\w+)\b",
            _COMPARES,
        ),
        (
            r"\b(?:chang\w+|improv\w+|increas\w+|decreas\w+|declin\w+|gr[eo]wn?|fall|fell|rose|rise)\b"
            r".*\b(?:from|since|over)\b",
            _COMPARES,
        ),
        (
            r"\b(?:why|how come|reasons?|because|caused?|causes|drove|drives|led to|impact\w*|"
            r"affect\w*|effects?|"
            r"bears?|influenc\w+|implications?|implies|consequences?|risks?|expos\w+|threat\w*|"
            r"mean for|means for|"
            r"relat\w+|connect\w+|summar\w+|overview|outline|describe|explain|discuss|analy\w+|"
            r"evaluate|assess|"
            r"(?:dis)?advantages?|strengths?|weaknesses|takeaways?|main points|key points|based on|given|"
            r"conclu\w+)\b",
            _WHOLE,
        ),
        (rf"\b{_KIN}\b", _BY_WAY_OF),
        # A clause after its noun ("the film that …"), or what is asked for at the end of a statement.
        (r"^(?:\S+ ){2,}(?:who|whom|whose|that|which|what|where|when)\b", _BY_WAY_OF),
        (r"'s (?:\S+ )*?\S+'s\b(?! N)", _BY_WAY_OF),
        (rf"\bof (?:the |a |an )?(?:{_W} ){{1,4}}of\b", _BY_WAY_OF),
        # Of something described rather than named: "Where was the author of Jaws born?"
        (
            rf"\b{_DO} (?:the |a |an )?(?:{_W} ){{1,3}}(?:of|for|in|at|from|behind) (?:the |a "
            rf")?(?:{_W} ){{0,2}}"
            rf"N(?:'s)? (?:{_W}|{_PREPOSITION})",
            _BY_WAY_OF,
        ),
        (rf"\b(?:what|which) {_W} {_BE} (?:the (?:{_W} )+of|N's) ", _BY_WAY_OF),
        (rf"\bthe (?:{_W} )+of (?:the |a )?(?:{_W} ){{0,2}}N {_DO}\b", _BY_WAY_OF),
        (
            rf"^(?:when|where|how(?: {_W})?|(?:what|which) {_W}) {_DO} (?:the|a) (?:{_W} ){{1,3}}of\b",
            _BY_WAY_OF,
        ),
        (rf"^(?!who|what is|what was)\S+(?: \S+)? {_DO} N's (?:{_W} ){{1,3}}{_W}", _BY_WAY_OF),
        (
            r"\b(?:by|starring|featuring|containing|including|directed|written|founded|made|owned|produced|"
            r"published|created|located|based|named|born) (?:by|in|after|on|at) (?:the |a )?(?:\w+ ){1,4}"
            r"(?:of|by|in)\b",
            _BY_WAY_OF,
        ),
        # Other languages: the words that say it whatever the form.
        (
            r"\b(?:vergleich\w*|unterschied\w*|beide|jeweils|sowie|compar\w+|différence|diferencia|"
            r"diferencias)\b",
            _COMPARES,
        ),
        (
            r"\b(?:warum|wieso|weshalb|auswirkung\w*|risik\w*|fasse?|zusammenfass\w*|folgen|"
            r"pourquoi|risques?|résum\w+|"
            r"riesgos?|resum\w+|por qué)\b",
            _WHOLE,
        ),
        ("比较|比較|相比|对比|對比|区别|區別|不同|差异|差異|还是|還是|違い|비교|차이", _COMPARES),
        ("以及|分别|分別|各自|哪些|所有|それぞれ", _SEVERAL),
        (
            "为什么|為什麼|为何|為何|原因|影响|影響|风险|風險|总结|總結|概述|分析|趋势|趨勢|变化|變化|意味|なぜ|理由|リスク|"
            "まとめ|왜|영향|위험|요약|이유",
            _WHOLE,
        ),
    )
)


def needs_several(question: str) -> str:
    """Why ``question`` takes several look-ups, as a sentence for people; "" if its form does not say so."""
    line = _line(question)
    if len(line.split()) > _MOST_WORDS:
        return "It has many conditions."
    return next((reason for form, reason in _MANY_FACTS if form.search(line)), "")


def asks_one_fact(question: str) -> str:
    """Why ``question`` takes one look-up, likewise; "" if that is not clear.

    Only to be asked of a question that does not `needs_several`.
    """
    if has_cjk(question):
        one = _ONE_FACT_CJK.fullmatch("".join(question.split())) is not None
        return "It asks for one fact about one thing." if one else ""
    bare = re.sub(r"[\s?.!]+\Z", "", _line(question))
    if _ONE_FACT.fullmatch(bare):
        return "It asks for one fact about one thing."
    if _KEYWORDS.fullmatch(re.sub(r" [^\w\s]+(?= )", "", bare)):
        return "It is a few words to search for."
    return ""


def _line(question: str) -> str:
    """The skeleton, with fixed expressions as one word each."""
    return _FIXED.sub(lambda match: match.group().replace(" ", "_"), skeleton(question))
