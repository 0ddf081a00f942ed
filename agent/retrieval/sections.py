"""Section paths: which stored sections a planner or a question means, in its own words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.text.terms import terms
from traces.records import SECTION_SEPARATOR

_ITEM = re.compile(r"\bitem\s*(\d{1,2}[a-c]?)\b", re.IGNORECASE)
_ENOUGH = 0.6


def match_sections(wanted: str, stored: Sequence[str]) -> list[str]:
    """The stored section paths that ``wanted`` means; empty if none is close.

    ``Item 1A`` matches by its number alone. Otherwise a heading matches by the share of terms it and
    ``wanted`` have in common (Dice's coefficient, at least 0.6). The outermost matching heading of a
    path includes all beneath it.
    """
    wanted_terms = set(terms(wanted)) - {"section", "item"}
    item = _ITEM.search(wanted)
    matches: dict[str, float] = {}
    for path in stored:
        headings = path.split(SECTION_SEPARATOR)
        for depth, heading in enumerate(headings, start=1):
            score = _score(item.group(1) if item else None, wanted_terms, heading)
            if score >= _ENOUGH:
                prefix = SECTION_SEPARATOR.join(headings[:depth])
                matches[prefix] = max(score, matches.get(prefix, 0.0))
                break
    if not matches:
        return []
    best = max(matches.values())
    return [path for path, score in matches.items() if score == best]


def mentioned_sections(question: str, stored: Sequence[str]) -> list[str]:
    """The stored section paths whose heading the question mentions.

    "According to the annual report's risk factors, …" names ``Item 1A. Risk Factors``: the question
    contains all terms of the heading, at least two. "Item 7" names its section by number.
    """
    item = _ITEM.search(question)
    have = set(terms(question))
    found: dict[str, None] = {}
    for path in stored:
        headings = path.split(SECTION_SEPARATOR)
        for depth, heading in enumerate(headings, start=1):
            number = _ITEM.search(heading)
            named = set(terms(_ITEM.sub("", heading)))
            by_number = item and number and item.group(1).casefold() == number.group(1).casefold()
            if by_number or (len(named) >= 2 and named <= have):
                found[SECTION_SEPARATOR.join(headings[:depth])] = None
                break
    return list(found)


def last_heading(section: str) -> str:
    """The innermost heading of a stored section path."""
    return section.rsplit(SECTION_SEPARATOR, 1)[-1]


def _score(item: str | None, wanted: set[str], heading: str) -> float:
    found = _ITEM.search(heading)
    if item and found:
        return 1.0 if item.casefold() == found.group(1).casefold() else 0.0
    have = set(terms(heading)) - {"section", "item"}
    if found:
        have.discard(found.group(1).casefold())
    if not have or not wanted:
        return 0.0
    return 2 * len(have & wanted) / (len(have) + len(wanted))
