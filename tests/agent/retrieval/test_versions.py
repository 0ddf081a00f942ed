"""Versions of one document, told by title, file name, date and number."""

from __future__ import annotations

from typing import Any

import pytest

from agent.retrieval.versions import same_series, versions
from agent.state import Evidence
from tests.agent.made import evidence


def _of(document: str, title: str = "", date: str = "", number: int = 1, **changes: Any) -> Evidence:
    made: Any = {**evidence(number, "x", title=title), "document": document, "date": date, **changes}
    return made  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        (_of("club/Statutes_2023-06-05.md"), _of("club/Statutes_2023-05-26.md")),
        (_of("policies/leave.md", "Leave policy"), _of("archive-2023-03/leave.md", "Taking leave")),
        (_of("terms_v10.pdf", "Terms"), _of("terms_v2.pdf", "Terms")),
        (_of("Addendum_v202212.pdf"), _of("Addendum_v202010.pdf")),
        (_of("addendum_current.pdf", "Addendum"), _of("Old_Addendum_v202010.pdf", "Addendum")),
        (_of("minutes/2024-02-02.md"), _of("minutes/2024-01-19.md")),
        (_of("2023 Q1 ACME.pdf"), _of("2022 Q3 ACME.pdf")),
        (_of("2022 Q3 ACME.pdf"), _of("2022 Q2 ACME.pdf")),
        (_of("Preisliste 03.05.2024.pdf"), _of("Preisliste 01.12.2023.pdf")),
        (_of("lease.pdf", "Lease 2024", "2024-01-01"), _of("old.pdf", "Lease 2021", "2021-01-01")),
        (_of("会议/预算_2024-05.md"), _of("会议/预算_2023-11.md")),
    ],
)
def test_the_later_version_supersedes_the_earlier(later: Evidence, earlier: Evidence) -> None:
    assert versions([earlier, later]) == [[later, earlier]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_of("cancellation/index.md", "Cancellation"), _of("refund/index.md", "Refunds")),
        (_of("scan_0012.pdf"), _of("scan_0013.pdf")),
        (_of("paper.3630224.pdf"), _of("paper.3886739.pdf")),
        (_of("book/1.md", "Chapter 1"), _of("book/2.md", "Chapter 2")),
        (_of("2023 Q1 ACME.pdf"), _of("2022 Q3 OTHER.pdf")),
        (_of("minutes/2024-02-02.md"), _of("payroll/2024-01-19.md")),
        (_of("a.md", "Leave policy"), _of("b.md", "Leave policy")),  # nothing says which is later
        (_of("a_2023.md"), _of("a_2024.md", collection="other")),
        (_of("a_2023.md"), _of("a_2023.md")),
    ],
)
def test_no_versions_of_one_another(one: Evidence, other: Evidence) -> None:
    assert not same_series(one, other)


def test_passages_are_grouped_by_series_the_latest_version_first() -> None:
    old = _of("archive-2021/fees.md", number=1)
    new, more = _of("fees.md", number=2), _of("fees.md", number=3)
    middle = _of("archive-2022/fees.md", number=4)
    alone = _of("rooms.md", number=5)
    (group,) = versions([old, new, alone, middle, more])
    assert [item["number"] for item in group] == [2, 3, 4, 1]
