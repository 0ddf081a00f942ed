"""Section paths: which stored sections the words of a planner or a question refer to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.text.terms import terms
from traces.records import SECTION_SEPARATOR

_ITEM = re.compile(r"\bitem\s*(\d{1,2}[a-c]?)\b", re.IGNORECASE)
_LEAST_SIMILARITY = 0.6


def match_sections(description: str, paths: Sequence[str]) -> list[str]:
    """The stored section paths that ``description`` refers to; empty if none is close.

    ``Item 1A`` matches by its number alone. Otherwise a heading matches by the share of terms that it and
    ``description`` have in common (Dice's coefficient, at least 0.6). The outermost matching heading of a
    path includes everything below it.
    """
    description_terms = set(terms(description)) - {"section", "item"}
    item = _ITEM.search(description)
    matches: dict[str, float] = {}
    for path in paths:
        headings = path.split(SECTION_SEPARATOR)
        for depth, heading in enumerate(headings, start=1):
            score = _score(item.group(1) if item else None, description_terms, heading)
            if score >= _LEAST_SIMILARITY:
                prefix = SECTION_SEPARATOR.join(headings[:depth])
                matches[prefix] = max(score, matches.get(prefix, 0.0))
                break
    if not matches:
        return []
    best = max(matches.values())
    return [path for path, score in matches.items() if score == best]


def mentioned_sections(question: str, paths: Sequence[str]) -> list[str]:
    """The stored section paths whose heading the question mentions.

    "According to the annual report's risk factors, …" names ``Item 1A. Risk Factors``: the question
    contains all terms of the heading, at least two. "Item 7" names its section by number.
    """
    item = _ITEM.search(question)
    question_terms = set(terms(question))
    mentioned: dict[str, None] = {}
    for path in paths:
        headings = path.split(SECTION_SEPARATOR)
        for depth, heading in enumerate(headings, start=1):
            number = _ITEM.search(heading)
            heading_terms = set(terms(_ITEM.sub("", heading)))
            by_number = item and number and item.group(1).casefold() == number.group(1).casefold()
            if by_number or (len(heading_terms) >= 2 and heading_terms <= question_terms):
                mentioned[SECTION_SEPARATOR.join(headings[:depth])] = None
                break
    return list(mentioned)


def last_heading(section: str) -> str:
    """The innermost heading of a stored section path."""
    return section.rsplit(SECTION_SEPARATOR, 1)[-1]


def _score(item: str | None, wanted_terms: set[str], heading: str) -> float:
    number = _ITEM.search(heading)
    if item and number:
        return 1.0 if item.casefold() == number.group(1).casefold() else 0.0
    heading_terms = set(terms(heading)) - {"section", "item"}
    if number:
        heading_terms.discard(number.group(1).casefold())
    if not heading_terms or not wanted_terms:
        return 0.0
    return 2 * len(heading_terms & wanted_terms) / (len(heading_terms) + len(wanted_terms))
