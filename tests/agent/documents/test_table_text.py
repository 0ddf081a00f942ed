"""Tables read without a model."""

from __future__ import annotations

from agent.documents.table_text import parts, rows, with_headings


def test_parts_without_a_header_line() -> None:
    assert parts("only text") == (["only text"], [])
    assert parts("") == ([], [])
    assert parts("Caption\nA | B\nx | 1") == (["Caption", "A | B"], ["x | 1"])


def test_rows_keep_the_heading_they_stand_under() -> None:
    body = ["Year 1:", "a | 1", "b | 2", "Year 2:", "a | 3"]
    assert with_headings(body, [2, 4]) == ["Year 1:", "b | 2", "Year 2:", "a | 3"]


def test_a_row_with_other_columns_than_the_header_keeps_its_cells() -> None:
    (row,) = rows("In millions | 2024 | 2023\nServices | 1 | 2 | 3")
    assert row.spelled() == "Services: 1, 2, 3"
