"""Tables read without a model."""

from __future__ import annotations

import pytest

from agent.cognition.tables import named_rows, names, parts, with_headings
from agent.retrieval.terms import terms


@pytest.mark.parametrize(
    ("row", "question", "named"),
    [
        ("Compute & Networking | $15,068", "Compute & Networking and Graphics revenue", True),
        ("Calder Bend, Ohio | 82%", "utilization of the Calder Bend plant", True),
        ("Total | 1", "Compute & Networking and Graphics revenue", False),
        ("Machinery and equipment | 402.6", "utilization of the Calder Bend plant", False),
        ("2024 | 1", "What of 2024?", False),
        ("Services", "Services", False),  # a heading is no row
        (" | 1", "Services", False),
    ],
)
def test_names(row: str, question: str, named: bool) -> None:
    assert names(row, set(terms(question))) is named


def test_parts_without_a_header_line() -> None:
    assert parts("only text") == (["only text"], [])
    assert parts("") == ([], [])
    assert parts("Caption\nA | B\nx | 1") == (["Caption", "A | B"], ["x | 1"])


def test_rows_keep_the_heading_they_stand_under() -> None:
    rows = ["Year 1:", "a | 1", "b | 2", "Year 2:", "a | 3"]
    assert with_headings(rows, [2, 4]) == ["Year 1:", "b | 2", "Year 2:", "a | 3"]


def test_a_row_with_other_columns_than_the_header_keeps_its_cells() -> None:
    (row,) = named_rows("In millions | 2024 | 2023\nServices | 1 | 2 | 3", "Services")
    assert row.spelled() == "Services: 1, 2, 3"
