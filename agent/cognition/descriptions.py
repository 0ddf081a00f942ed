"""Descriptions: a thing that a question describes instead of naming it is looked up first.

"Where did the mother of the author of Marrow die?" describes a person by a person by a book. The innermost
description is a look-up of its own, its finding takes its place, and so on outwards. Told by English forms
alone; a question that describes its things in other ways is left to the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.cognition.masking import NAME, WORK
from agent.retrieval.terms import terms

_PERSON = "|".join(
    (
        "actor actress architect artist aunt author brother captain ceo chairman child children co-author "
        "co-founder co-producer coach composer creator daughter designer developer director editor "
        "explorer father father-in-law founder governor grandfather grandmother grandson granddaughter "
        "head host husband illustrator inventor invader king leader lyricist manager mayor mother "
        "mother-in-law narrator nephew niece novelist owner painter parent performer player poet president "
        "producer queen ruler screenwriter sculptor sibling singer sister son songwriter spouse star "
        "stepmother stepfather uncle wife winner writer"
    ).split()
)
_OTHER = (
    "alma mater|band|birth city|birth country|birth place|birthplace|broadcaster|capital|"
    "capital city|city of birth|country of birth|country of citizenship|distributor|employer|"
    "headquarters|hometown|label|manufacturer|network|parent company|place of birth|place of burial|"
    "place of death|predecessor|production company|publisher|publishing house|record company|"
    "record label|studio|subsidiary|successor|team"
)
_NO_WORD = (
    r"(?!(?:a|an|and|at|both|but|by|did|do|does|during|for|from|had|has|have|in|is|of|on|or|same|that|the|to|was|"
    r"were|when|where|which|who|whom|whose|with)\b)"
)
_ROLE = rf"(?:{_NO_WORD}[a-z-]+ ){{0,2}}?(?:{_PERSON}|{_OTHER})s?"
_KIND = rf"(?:(?:the|a|an|its|his|her) )?(?:(?:\d{{4}}|{_NO_WORD}[a-z-]+) ){{0,3}}?"
# A title has small words, commas and apostrophes in it, and may end with a sign of its own.
_FURTHER = rf"['’](?:[sS] )? ?{NAME}|[:,] (?:(?:a|an|and|the) ){{0,2}}{NAME}"
_TITLE = (
    rf"(?:the )?(?:\d{{4}} )?(?:{WORK})s? {NAME}"
    rf"(?:(?: (?:a|an|and|at|by|for|from|in|is|of|on|or|the|to|with)){{0,3}} {NAME}|{_FURTHER})*[?!]?"
    rf"|{NAME}(?:(?: (?:a|an|and|for|of|on|the|to|with)){{1,3}} {NAME}|{_FURTHER})*"
)
_NOT_YET = rf"(?!['’]s?\b| {NAME}| (?:team|film|series|award|album|company|filter|show)\b)"
_OF = re.compile(
    rf"\b(?:(?:the|an?) )?(?P<role>{_ROLE}) (?:of|for|behind) "
    rf"(?P<of>{_TITLE}|{_KIND}{NAME}(?:, {NAME}(?=$|['’]))?){_NOT_YET}"
)
_PLACE_OF = re.compile(r"\bthe (?P<role>country|city|town|state|county) of (?P<of>#\d)(?!['’]s?\b)")
_OWN = re.compile(rf"(?P<of>{NAME}(?:, {NAME})?)\s?['’]s? (?P<role>{_ROLE}|country)\b(?! of)")

_NOUN = rf"(?:(?:\d{{4}}|{NAME}|{_NO_WORD}[a-z-]+) ){{0,4}}?{_NO_WORD}(?![a-z-]+ed\b)[a-z-]+"
_BE = r"(?:is|was|are|were|has been|had been)"
# What stands behind the name in "the city where N died", "the country N is from".
_DOES = (
    rf"(?:(?:{_BE} )?(?:\w+ed|born|set|found|made|held|built|won|grown|known|shot|sung|fought)"
    r"(?: (?:in|from|to broadcast|to|by|at))?"
    rf"|{_BE}(?: (?:in|from|(?:a )?part of|a part|a member of|a citizen(?: of)?|set in|based on))?"
    r"|(?:plays|played|works|worked|lives|lived|sings|competes) (?:in|for|at|with|on)"
    r"|(?:took|takes) place|grew up|comes from|came from|lives|died|occurs?|occurred)"
)
_WHERE = r"(?:where|in which|from which|on which|of which|that|which|whom)"
_SEEN = re.compile(
    rf"\b[Tt]he (?P<noun>{_NOUN})(?P<where> {_WHERE})? (?:the )?(?:[a-z]+ of )?(?P<of>{NAME}(?:, {NAME})?) "
    rf"(?P<does>{_DOES})(?=[ ,?]|$)"
)
_BEING = re.compile(
    rf"\b[Tt]he {_NOUN} (?:bordering|containing|featuring|hosting|housing|including|premiering|producing|"
    rf"publishing|showing|starring) (?:the )?{NAME}{_NOT_YET}"
)
_DOING = re.compile(
    rf"\b[Tt]he (?P<noun>{_NOUN}) (?P<who>who|that|which)"
    rf"(?P<does>(?: {_NO_WORD}[a-z-]+| (?:is|was|has|had|by|in|to|with)){{1,4}}?)"
    rf" (?P<of>{_TITLE}|{_KIND}{NAME}){_NOT_YET}"
)
_NEAR = re.compile(rf"(?: (?:for|in|at|on|from|by|with|of) (?:the )?(?:{NAME}|\d{{4}}))+")
_TAIL = re.compile(rf"^(?: (?:for|in|at|on|during|as|from|with|by|to) (?:(?!{_BE}\b)[^,?])+)?$")
_UNSOUND = re.compile(rf"#\d {NAME}|#\d[.:;!?] |{_BE} #\d {_BE}\b|{NAME} #\d|#\d #\d")
_NOT_DESCRIBED = frozenset(
    "amount beginning date day end fact height kind length month name number one part population reason "
    "size start time type way year years".split()
)
_BARE = re.compile(rf"^(?:who|what|which|where)?(?: {_BE})?(?: the)?(?: name of)? ?#\d$", re.IGNORECASE)
_KINDRED = {
    "paternal grandfather": ("father", "father"),
    "paternal grandmother": ("father", "mother"),
    "maternal grandfather": ("mother", "father"),
    "maternal grandmother": ("mother", "mother"),
    "father-in-law": ("spouse", "father"),
    "mother-in-law": ("spouse", "mother"),
    "stepfather": ("mother", "husband"),
    "stepmother": ("father", "wife"),
}
_KIN = re.compile(
    rf"\b(?:the )?(?P<kin>{'|'.join(_KINDRED)}) of (?P<of>{NAME}(?:, {NAME})?)"
    rf"|(?P<own>{NAME}(?:, {NAME})?)['’]s? (?P<kin2>{'|'.join(_KINDRED)})\b"
)
_MOST = 4


def chain(text: str) -> tuple[list[str], str]:
    """The look-ups for what ``text`` describes, innermost first, and ``text`` with their references.

    Args:
        text: A question whose names are masked, without its question mark.

    Returns:
        ``[]`` and ``text`` itself where nothing is described, or where that is all it asks for.
    """
    steps: list[str] = []
    text = _KIN.sub(_by_parents, text)
    while len(steps) < _MOST - 1:
        taken = next(filter(None, (_taken(text, *one, len(steps) + 1) for one in _found(text))), None)
        if taken is None:
            break
        look_up, text = taken
        steps.append(look_up)
    return steps, text


def _found(text: str) -> list[tuple[int, int, str]]:
    """Where descriptions stand that hold no other one, and their look-ups, in order."""
    return sorted([*_by_role(text), *_by_clause(text)])


def _taken(text: str, start: int, end: int, look_up: str, number: int) -> tuple[str, str] | None:
    """A look-up and the text with its reference; None where a name or a clause would be cut in two.

    Nor is it taken if what is left asks for nothing else.
    """
    rest = f"{text[:start]}#{number}{text[end:]}"
    empty = _BARE.match(rest.strip()) or not terms(re.sub(NAME, " ", rest))
    return None if empty or _UNSOUND.search(f"{look_up[:-1]} {rest}") else (look_up, rest)


def _by_role(text: str) -> Iterator[tuple[int, int, str]]:
    """The author of N; N's author; the country of #1."""
    for match in (*_OF.finditer(text), *_PLACE_OF.finditer(text)):
        around = f"{match['of']}{text[match.end() :][:5]}"
        if match["role"].endswith("s") and re.search(rf"{NAME} and ", around):
            continue  # "the directors of A and B"
        yield match.start(), match.end(), f"{_asks(match['role'])} the {match['role']} of {match['of']}?"
    for match in _OWN.finditer(text):
        yield match.start(), match.end(), f"{_asks(match['role'])} {match['of']}'s {match['role']}?"


def _by_clause(text: str) -> Iterator[tuple[int, int, str]]:
    """The city where N died; the person who ruled N."""
    for match in _SEEN.finditer(text):
        noun = match["noun"].rsplit(maxsplit=1)[-1]
        apposition = match["where"] is None and re.fullmatch(WORK, noun)  # "the film Kadis filmed in"
        if noun not in _NOT_DESCRIBED and not apposition:
            yield match.start(), match.end(), f"What is t{match.group()[1:]}?"
    for match in _BEING.finditer(text):
        yield match.start(), match.end(), f"What is t{match.group()[1:]}?"
    for match in _DOING.finditer(text):
        near = _NEAR.match(text, match.end())
        # With "did", the verb of the question stands behind what it asks about.
        late = re.search(r"\b(?:did|do|does)\b", text[: match.start()])
        to_the_end = not late and _TAIL.match(text[match.end() :])
        end = len(text) if to_the_end else near.end() if near else match.end()
        if match["noun"].rsplit(maxsplit=1)[-1] not in _NOT_DESCRIBED:
            asks = "Who" if match["who"] == "who" else "What"
            yield match.start(), end, f"{asks} is t{text[match.start() + 1 : end]}?"


def _by_parents(match: re.Match[str]) -> str:
    """A grandfather as the father of the father: relations that texts give one by one."""
    first, second = _KINDRED[match["kin"] or match["kin2"]]
    return f"the {second} of the {first} of {match['of'] or match['own']}"


def _asks(role: str) -> str:
    last = role.rsplit(maxsplit=1)[-1]
    person = re.fullmatch(rf"(?:{_PERSON})s?", last) is not None
    plural = last.endswith("s") and last not in {"headquarters", "boss"}
    return f"{'Who' if person else 'What'} {'are' if plural or last == 'children' else 'is'}"
