"""What a question shows on its surface, without a model: its names, its periods, what it points back to.

Only what the words themselves tell is told. A rule that needs English words says nothing about another
language: a question in Chinese is not vague for its lack of capital letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_OPENERS = frozenset(
    "a about according actually after all also am an and any are as at based because before between both "
    "but by calculate can compare could describe did do does during each either estimate every explain "
    "find for from give given had has have he help her his how i if in into is it its let list many may "
    "me might more most my name no not now of on once one only or other our out over please provide read "
    "report say search she should show since so some sum summarise summarize tell than that the their "
    "them then there these they this those to under until up was we were what when where whether which "
    "while who whom whose why will with would yes you your "
    "auf aus bei das dem den der des die ein eine er es für gibt hat hatte im ist mit nach sie sind und "
    "von wann warum war waren was welche welchen welcher welches wem wen wer wie wieso wo woher zu "
    "combien comment est et la le les où pourquoi quand que quel quelle quels qui "
    "cuál cuándo cuánto cómo dónde el los por qué quién y".split()
)
"""Words that may begin a sentence, with a capital for that reason alone."""
_INSIDE_NAMES = frozenset(
    "of the de del della di da la le les los las el du des van von der den dos y".split()
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)"
)
_SHORT_MONTH = r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"  # a name where no number is near
_YEAR = r"(?<![\d.,])(?:1[5-9]|20)\d\ds?(?![^\W年]|[.,]\d)年?"
_PERIOD = re.compile(
    rf"(?:\d{{1,2}}\.?\s)?(?:{_MONTH}|{_SHORT_MONTH})\s(?:\d{{1,2}},?\s)?{_YEAR}"
    rf"|(?:(?:fiscal(?:\syear)?|financial\syear|FY|Q[1-4](?:\sof)?|H[12](?:\sof)?)\s?)?{_YEAR}"
    rf"|(?:\d{{1,2}}\.?\s)?{_MONTH}\b(?:\s\d{{1,2}}\b)?"
    r"|(?:FY\s?\d\d|[QH][1-4])\b",
    re.IGNORECASE,
)
_WORK = "film|movie|song|album|single|book|novel|play|opera|show|series|game"
_ONE_NAME = (
    (re.compile(r"\bN(?: \.)? (?=N)"), ""),  # "John M. Ode"
    (
        re.compile(rf"\b({_WORK}) N(?: (?:[a-z]+|[^\w\s]) N)+(?!\S)"),
        r"\1 N",
    ),  # "the film Gone To the Dogs in May"
    (re.compile(r"\bN(?: [,:–-] N)+\b(?! (?:and|or)\b)"), "N"),  # "Avelin, Ohio"
)
_QUOTED = re.compile(r"[\"“«「『](?P<inner>[^\"”»」』]{2,})[\"”»」』]")
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’&./-][^\W_]+)*(?:(?<=s)['’](?= ))?|[^\w\s]")
_POSSESSIVE = re.compile(r"['’]s\Z|(?<=s)['’]\Z", re.IGNORECASE)

Kind = Literal["name", "period", "word", "sign"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, a sign, a whole name, or a whole period ("July 2025"), with its place in the text.

    ``end`` is before a possessive ending, which ``text`` leaves out as well.
    """

    kind: Kind
    text: str
    start: int
    end: int
    possessive: bool = False


def has_cjk(text: str) -> bool:
    """True if any of it is Chinese, Japanese or Korean."""
    return _CJK.search(text) is not None


def pieces(text: str) -> list[Piece]:
    """``text`` in order, the words of each name and of each period taken together.

    A name is a run of capitalised words or of codes with digits ("MI300X"), or a quotation. What stands
    in brackets is left out. A text without capital letters has hardly any names here.
    """
    words = _words(re.sub(r"\([^()]*\)", lambda match: " " * len(match.group()), text))
    found: list[Piece] = []
    at = 0
    while at < len(words):
        after = at + 1
        if words[at].kind == "name":
            while (further := _same_name(words, after)) > after:
                after = further
        last = words[after - 1]
        first = words[at]
        name = text[first.start : last.end] if after > at + 1 else first.text
        found.append(Piece(first.kind, name, first.start, last.end, last.possessive))
        at = after
    return found


def names(text: str) -> list[str]:
    """The names in ``text``, in order, each once."""
    return list(dict.fromkeys(piece.text for piece in pieces(text) if piece.kind == "name"))


def periods(text: str) -> list[Piece]:
    """The years, quarters, months and dates in ``text``, in order."""
    return [piece for piece in pieces(text) if piece.kind == "period"]


def skeleton(text: str) -> str:
    """``text`` in lower case, with ``N`` for each name and ``Y`` for each period.

    "Where was the director of Jaws born in 1946?" is "where was the director of N born in Y ?".
    """
    tokens = {"name": "N", "period": "Y"}
    marked = [
        tokens.get(piece.kind, piece.text.casefold()) + ("'s" if piece.possessive else "")
        for piece in pieces(text)
    ]
    line = " ".join(marked)
    for form, name in _ONE_NAME:
        line = form.sub(name, line)
    return line


def _words(text: str) -> list[Piece]:
    """Quotations, periods, words and signs, before the words of a name are taken together."""
    found: list[Piece] = []
    at = 0
    while at < len(text):
        if quoted := _QUOTED.match(text, at):
            found.append(Piece("name", quoted["inner"], at, quoted.end()))
            at = quoted.end()
        elif period := _period(text, at):
            found.append(Piece("period", period.group(), at, period.end()))
            at = period.end()
        elif word := _WORD.match(text, at):
            found.append(_word(word.group(), at, first=not any(p.kind != "sign" for p in found)))
            at = word.end()
        else:
            at += 1
    return found


def _period(text: str, at: int) -> re.Match[str] | None:
    """The period that begins here, unless it is the end of a word, or a verb ("the plant may close")."""
    if text[at - 1 : at].isalnum() and not _CJK.match(text, at - 1):
        return None
    found = _PERIOD.match(text, at)
    if found is None or any(c.isdigit() for c in found.group()):
        return found
    if found.group() in {"may", "march"} or re.match(r"\s[A-Z]", text[found.end() : found.end() + 2]):
        return None  # "the plant may close", "June Ode"
    return found


def _word(text: str, start: int, *, first: bool) -> Piece:
    bare = _POSSESSIVE.sub("", text)
    end = start + len(bare)
    kind: Kind = "word"
    if not any(c.isalnum() for c in text):
        kind = "sign"
    elif any(c.isupper() for c in bare):
        opener = first and bare.casefold() in _OPENERS
        kind = "word" if opener or bare in {"I", "I'm", "I’m"} else "name"
    elif any(c.isdigit() for c in bare) and any(c.isalpha() for c in bare):
        kind = "name" if not _CJK.search(bare) else "word"
    return Piece(kind, bare, start, end, len(bare) < len(text))


def _same_name(words: list[Piece], after: int) -> int:
    """Where the name ends that the words before ``after`` begin: ``after`` itself, or further on."""
    if words[after - 1].possessive or words[after - 1].kind == "sign":
        return after
    ahead = after
    if after == 1 and ahead < len(words) and words[ahead].text in _INSIDE_NAMES:
        return after  # "Revenue of Orlavane": the capital is the sentence's
    while ahead < len(words) and ahead - after < 2 and words[ahead].text in _INSIDE_NAMES:
        ahead += 1
    if ahead == after and ahead < len(words) and words[ahead].text == "&":
        ahead += 1
    if ahead < len(words):
        if words[ahead].kind == "name":
            return ahead + 1
        if ahead == after and words[ahead].kind == "word" and words[ahead].text.isdigit():
            return ahead + 1  # "Verrin 400"
    return after
