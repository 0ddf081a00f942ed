"""Rows come back from their file as they were; a file that holds anything else is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from policy.evaluation.evaluating import BadLines, Row, Rows

ONE = Row("toy", "one", "lean", "small", "Ann", measures={"right": 0.5})
TWO = Row("toy", "two", "lean", "small", "")


def test_what_was_added_is_read_again_and_the_newest_of_a_key_counts(tmp_path: Path) -> None:
    file = tmp_path / "work" / "rows.jsonl"
    rows = Rows(file)
    assert rows.all() == []
    newer = replace(ONE, answer="Bea")
    for row in (ONE, TWO, newer):
        rows.add(row)
    assert rows.all() == Rows(file).all() == [newer, TWO]


def test_a_last_line_that_was_cut_off_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    Rows(file).add(ONE)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:20])
    rows = Rows(file)
    assert rows.all() == [ONE]
    rows.add(TWO)
    assert Rows(file).all() == [ONE, TWO]


@pytest.mark.parametrize("line", ["nothing", "[]", "{}", '{"questions": "toy", "measures": 3}'])
def test_a_damaged_line_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "rows.jsonl"
    Rows(file).add(ONE)
    file.write_text(f"{file.read_text('utf-8')}{line}\n", "utf-8")
    with pytest.raises(BadLines, match=r"Line 2 of rows\.jsonl"):
        Rows(file)
