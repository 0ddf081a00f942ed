"""Versions of one document: the same title or file name with different dates or version numbers.

Only digits, separators and folders matter, so it works in any language: ``Statutes_2023-05-26.md`` and
``Statutes_2023-06-05.md``, ``archive-2023-03/leave.md`` and ``policies/leave.md``, ``terms_v2.pdf`` and
``terms_v10.pdf``. A mere counter ("Chapter 2", ``scan_0012.pdf``) is no version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cmp_to_key
from pathlib import PurePosixPath
from typing import TypeVar

from agent.state import Candidate, Evidence

Passage = TypeVar("Passage", Candidate, Evidence)

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

    In a list the passages of the latest version come first; passages of one version keep their order.
    """
    groups: list[list[Passage]] = []
    for passage in passages:
        own = next((g for g in groups if any(_together(passage, other) for other in g)), None)
        if own is None:
            groups.append([passage])
        else:
            own.append(passage)
    found = [group for group in groups if len({item["document"] for item in group}) > 1]
    return [sorted(group, key=cmp_to_key(_later), reverse=True) for group in found]


def same_series(one: Candidate | Evidence, other: Candidate | Evidence) -> bool:
    """True if the documents of two passages are versions of one document.

    They are in one collection, and one of them is later. Their titles are the same except for dates and
    version numbers; or their file names are, and their paths have different dates or version numbers; or
    their names are only dates, and they are in one folder.
    """
    if one["collection"] != other["collection"] or one["document"] == other["document"]:
        return False
    if not _later(one, other):
        return False
    titles = _bare(one["title"]), _bare(other["title"])
    if titles[0] and titles[0] == titles[1]:
        return True
    mine, its = PurePosixPath(one["document"]), PurePosixPath(other["document"])
    if _bare(mine.stem) != _bare(its.stem) or _rank(one["document"]) == _rank(other["document"]):
        return False
    return bool(_bare(mine.stem)) or mine.parent == its.parent


def _together(one: Candidate | Evidence, other: Candidate | Evidence) -> bool:
    same = one["document"] == other["document"] and one["collection"] == other["collection"]
    return same or same_series(one, other)


def _later(one: Candidate | Evidence, other: Candidate | Evidence) -> int:
    """1 if the document of ``one`` is later, -1 if it is earlier, 0 if that is unknown.

    By the documents' own dates, else by their paths. If only one path has a date, the other document is
    the current one; if only one has a version number, the other is the first.
    """
    if one["date"] and other["date"] and one["date"] != other["date"]:
        return 1 if one["date"] > other["date"] else -1
    (day, version), (other_day, other_version) = _rank(one["document"]), _rank(other["document"])
    if bool(day) != bool(other_day):
        return 1 if other_day else -1
    mine, its = (day, version), (other_day, other_version)
    return (mine > its) - (mine < its)


def _rank(path: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Year, month and day of the last date in a path, and its version number; both may be empty."""
    dates = [{key: int(value) for key, value in m.groupdict("0").items()} for m in _DATE.finditer(path)]
    numbers = _VERSION.findall(_DATE.sub(" ", path))
    day: tuple[int, ...] = ()
    if dates:
        found = dates[-1]
        quarter = 3 * (found["quarter"] + found["quarter1"])
        day = (
            found["year"] + found["year1"] + found["year2"],
            found["month"] + found["month1"] + quarter,
            found["day"] + found["day1"],
        )
    return day, tuple(map(int, numbers[-1].split("."))) if numbers else ()


def _bare(name: str) -> str:
    """A title or file name without dates, version numbers and separators, case-folded."""
    left = _VERSION.sub(" ", _DATE.sub(" ", name))
    return re.sub(r"[\W_]+", "", left).casefold()
