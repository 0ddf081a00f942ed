"""A second run is held against the first by outcomes, and says where it differs."""

from __future__ import annotations

from dataclasses import replace

from policy.evaluation.rows import Row
from tests.benchmarks.again import compared

_COMMITTED = [
    Row("a set", str(n), system, "m", "Tolvang", "plan done", "", {"f1": 1.0, "calls": 3.0, "seconds": 9.0})
    for n in range(2)
    for system in ("shallow", "oracle")
]


def _again(**other: object) -> list[Row]:
    first, *rest = _COMMITTED
    return [replace(first, **other), *rest]  # type: ignore[arg-type]


def test_other_seconds_are_no_other_outcome() -> None:
    table = compared(_COMMITTED, _again(measures={"f1": 1.0, "calls": 3.0, "seconds": 1.0}))
    assert [(row.what, row.met) for row in table.rows] == [("shallow", True), ("oracle", True)]
    assert table.rows[0].result == "2 of 2 outcomes, 2 of 2 counts of tokens and calls"


def test_other_counts_are_told_and_break_no_bar() -> None:
    table = compared(_COMMITTED, _again(measures={"f1": 1.0, "calls": 4.0, "seconds": 9.0}))
    assert table.rows[0].met
    assert table.rows[0].result == "2 of 2 outcomes, 1 of 2 counts of tokens and calls"


def test_another_answer_or_measure_is_missed_and_named() -> None:
    for other in ({"short": "Brevnes"}, {"measures": {"f1": 0.5, "calls": 3.0, "seconds": 9.0}}):
        table = compared(_COMMITTED, _again(**other))
        assert [row.met for row in table.rows] == [False, True]
        assert table.rows[0].result.startswith("1 of 2 outcomes")
        assert any("shallow, a set 0" in note for note in table.notes)


def test_a_row_that_was_not_committed_is_no_proof() -> None:
    assert [row.met for row in compared([], _COMMITTED[:1]).rows] == [False]
