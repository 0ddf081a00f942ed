"""Relatives: a question whose last clause describes a thing that it does not name, told by its form.

"Marrow is a film by the Dutch director who was born in what year?" asks for the director first, and then
for the year. The clause behind a description either asks ("who was born in what year") or describes
("Who wrote the book named after the artist who sang Kadis?"): the other half is the other look-up. What a
small model makes of such a question is most often the question itself.
"""

from __future__ import annotations

import re

from agent.cognition.masking import NAME, masked, unmasked

_WH = r"(?:what|which|who|whom|whose|where|when|how (?:many|much|old|long|large|tall|far))"
_IN = r"(?:of|in|at|to|for|by|with|from|on|as|near|after|under|between|during|against)"
_SMALL = rf"(?:{_IN}|{_WH}|and|or|an?|the|is|was|are|were|that|has|have|had|did|does|do|also|now|ever)"
_BE_OR_HAVE = "is|was|are|were|be|being|has|have|had"  # before it stands what the subject itself is
# "run", "set" and "cut" are as often nouns, and an adverb in front of one describes it.
_PARTICIPLE = r"(?:[a-z]{3,}ed|born|built|known|held|made|written|sung|won)"
_WORD = rf"(?!{_SMALL}\b)(?:[a-z0-9'’-]+|{NAME})"
_ROLE = rf"(?P<role>(?:{_WORD} ){{0,4}}(?!{_SMALL}\b)(?-i:[a-z-]*[a-z])(?<!ly))"

# What is described is found by the beginning, and asked about by the clause.
_ASKING = re.compile(
    rf"^(?P<told>.+ (?!(?:{_BE_OR_HAVE}|and|or|but)\b)[^\s,]+) (?:an?|the|another) {_ROLE} "
    rf"(?:(?P<rel>whose|who|that|which) (?P<asks>[^,]*?\b{_WH}\b[^,]*)"
    rf"|(?P<part>{_PARTICIPLE} (?:[^,]*?\b{_IN} )?{_WH}\b[^,]*))$",
    re.IGNORECASE,
)
# It is found by the clause, and asked about by the beginning.
_ASKED = re.compile(
    rf"^(?P<asks>(?:{_IN} )?{_WH}\b[^,]* (?:{_IN}|[a-z]+ed|wrote|sang|made|built|won|led)) "
    rf"(?:an?|the) {_ROLE} "
    rf"(?:(?:who|that|which) (?P<is>(?!{NAME}|(?:he|she|they|it)\b)[^,]*{NAME}[^,]*)"
    rf"|(?P<part>{_PARTICIPLE} [^,]*{NAME}[^,]*))$",
    re.IGNORECASE,
)
_HAS_WH = re.compile(rf"\b{_WH}\b", re.IGNORECASE)
_HAS_NAME = re.compile(NAME)
_SPLIT = re.compile(r"\b(?:did|does|do|and|or)\b", re.IGNORECASE)
"""In what is asked, a verb may stand behind the clause: "When did the band that … break up?"."""
_NAMING = re.compile(r"^(?:who|what|which)(?: is the names? of| of)$", re.IGNORECASE)
_LEFT_OVER = re.compile(r"\b(?:born|located|opened|founded|released)$", re.IGNORECASE)


def described(text: str) -> list[str]:
    """Two look-ups, the second of which refers to the first as ``#1``; [] for a question of another form.

    Args:
        text: The question, as `agent.cognition.masking.bare` has it.
    """
    hidden, names = masked(text)
    found = _asking(hidden) or _asked(hidden)
    return [unmasked(look_up, names) for look_up in found]


def _asking(text: str) -> list[str]:
    match = _ASKING.match(text)
    if match is None or not _HAS_NAME.search(match["told"]) or _HAS_WH.search(match["told"]):
        return []
    first = f"{match['told']} which {match['role']}?"
    if match["part"]:
        return [first, f"#1 was {match['part']}?"]
    own = "#1's" if match["rel"].casefold() == "whose" else "#1"
    return [first, f"{own} {match['asks']}?"]


def _asked(text: str) -> list[str]:
    match = _ASKED.match(text)
    if match is None or _SPLIT.search(match["asks"]) or _NAMING.match(match["asks"]):
        return []
    says = match["is"] or f"was {match['part']}"
    if _HAS_WH.search(says) or _LEFT_OVER.search(says):
        return []
    return [f"Which {match['role']} {says}?", f"{match['asks']} #1?"]
