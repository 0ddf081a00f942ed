"""Versions of one document: the same title or file name with different dates or version numbers.

Only digits, separators and folders matter, so it works in any language: ``Statutes_2023-05-26.md`` and
``Statutes_2023-06-05.md``, ``archive-2023-03/leave.md`` and ``policies/leave.md``, ``terms_v2.pdf`` and
``terms_v10.pdf``. A mere counter ("Chapter 2", ``scan_0012.pdf``) is not a version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cmp_to_key
from pathlib import PurePosixPath
from typing import TypeVar

from agent.state import FoundPassage
from agent.text.terms import terms

_ALIKE = 0.35
"""Share of the terms of two passages that both have. One section in two versions of a document has 0.33 to
0.95, the most alike passage of another section up to 0.35."""

Passage = TypeVar("Passage", bound=FoundPassage)

_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"0[1-9]|1[0-2]", r"0[1-9]|[12]\d|3[01]"
_DATE = re.compile(
    rf"(?<!\d)(?:(?P<day1>{_DAY})[-_.](?P<month1>{_MONTH})[-_.](?P<year1>{_YEAR})"
    rf"|Q(?P<quarter1>[1-4])[-_. ]?(?P<year2>{_YEAR})"
    rf"|(?P<year>{_YEAR})(?:[-_. ]?Q(?P<quarter>[1-4])"
    rf"|[-_.]?(?P<month>{_MONTH})(?:[-_.]?(?P<day>{_DAY}))?)?)(?!\d)",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![^\W\d_])v\.?\s?(\d+(?:\.\d+)*)", re.IGNORECASE)


def versions(passages: Sequence[Passage]) -> list[list[Passage]]:
    """The passages of documents with several versions, one list for each such document.

    In each list the passages of the latest version come first; passages of one version keep their order.
    """
    groups: list[list[Passage]] = []
    for passage in passages:
        series = next((g for g in groups if any(_is_same_series(passage, other) for other in g)), None)
        if series is None:
            groups.append([passage])
        else:
            series.append(passage)
    several = [group for group in groups if len({item["document"] for item in group}) > 1]
    return [sorted(group, key=cmp_to_key(_compare_versions), reverse=True) for group in several]


def same_series(passage: FoundPassage, other: FoundPassage) -> bool:
    """True if the documents of two passages are versions of one document.

    They are in one collection, and one of them is later. Except for dates and version numbers, their titles
    are the same; or their file names are, and their paths have different dates or version numbers; or their
    names are only dates, and they are in one folder.
    """
    if passage["collection"] != other["collection"] or passage["document"] == other["document"]:
        return False
    if not _compare_versions(passage, other):
        return False
    titles = _bare_name(passage["title"]), _bare_name(other["title"])
    if titles[0] and titles[0] == titles[1]:
        return True
    mine, its = PurePosixPath(passage["document"]), PurePosixPath(other["document"])
    if _bare_name(mine.stem) != _bare_name(its.stem) or _rank(passage["document"]) == _rank(
        other["document"]
    ):
        return False
    return bool(_bare_name(mine.stem)) or mine.parent == its.parent


def takes_place(later: FoundPassage, earlier: FoundPassage) -> bool:
    """Whether a passage of a later version is what one of an earlier has become: they share many terms."""
    words, other_words = set(terms(later["text"])), set(terms(earlier["text"]))
    return len(words & other_words) >= _ALIKE * len(words | other_words)


def _is_same_series(passage: FoundPassage, other: FoundPassage) -> bool:
    same_document = (
        passage["document"] == other["document"] and passage["collection"] == other["collection"]
    )
    return same_document or same_series(passage, other)


def _compare_versions(passage: FoundPassage, other: FoundPassage) -> int:
    """1 if the document of ``passage`` is later than that of ``other``, -1 if earlier, 0 if unknown.

    Compares the documents' own dates, else their paths. If only one path has a date, the other document is
    the current one; if only one has a version number, the other is the first version.
    """
    if passage["date"] and other["date"] and passage["date"] != other["date"]:
        return 1 if passage["date"] > other["date"] else -1
    mine, its = _rank(passage["document"]), _rank(other["document"])
    if bool(mine[0]) != bool(its[0]):
        return 1 if its[0] else -1
    return (mine > its) - (mine < its)


def _rank(path: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Year, month and day of the last date in a path, and its version number; both may be empty."""
    dates = [{key: int(value) for key, value in m.groupdict("0").items()} for m in _DATE.finditer(path)]
    numbers = _VERSION.findall(_DATE.sub(" ", path))
    day: tuple[int, ...] = ()
    if dates:
        last_date = dates[-1]
        quarter = 3 * (last_date["quarter"] + last_date["quarter1"])
        day = (
            last_date["year"] + last_date["year1"] + last_date["year2"],
            last_date["month"] + last_date["month1"] + quarter,
            last_date["day"] + last_date["day1"],
        )
    return day, tuple(map(int, numbers[-1].split("."))) if numbers else ()


def _bare_name(name: str) -> str:
    """A title or file name without dates, version numbers and separators, case-folded."""
    remainder = _VERSION.sub(" ", _DATE.sub(" ", name))
    return re.sub(r"[\W_]+", "", remainder).casefold()
