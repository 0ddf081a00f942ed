"""The tables say what the rows do: means, paired differences, losses by stage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from policy.evaluation.evaluating import Row
from policy.evaluation.report import Table, markdown, sections

MODEL = "m"
HOTPOT, MUSIQUE = "hotpotqa_dev", "musique_dev"


def row(
    question: str, system: str, right: float, *, questions: str = HOTPOT, lost: str = "", **kept: float
) -> Row:
    measures = {"right": right, "steps": 2.0, "seconds": 10.0, "evaluated": 100.0, **kept}
    return Row(questions, question, system, MODEL, lost=lost, measures=measures)


def rows(system: str, right: Sequence[float], **kept: Any) -> list[Row]:
    return [row(f"q{i}", system, one, **kept) for i, one in enumerate(right)]


def _table(made: list[Row], title: str) -> Table:
    (heading, tables), *_ = sections(made)
    assert heading == f"{HOTPOT}, {MODEL}"
    return next(table for table in tables if table.title == title)


def test_means_are_over_the_questions_that_a_measure_is_known_for() -> None:
    made = [row("q0", "lean", 1.0, recall=0.5), row("q1", "lean", 0.0), row("q2", "lean", 0.5, recall=1.0)]
    ((name, questions, right),) = _table(made, "Answers").rows
    assert (name, questions) == ("lean", "3")
    assert right.startswith("50.0 [")
    ((_, _, recall),) = _table(made, "Evidence").rows
    assert recall == "75.0 [50.0, 100.0]"


def test_differences_are_paired_on_the_questions_that_both_have() -> None:
    made = [
        *rows("shallow", [0.0, 0.5, 1.0, 0.0]),
        row("q1", "lean learned", 1.0, steps=1, seconds=4, evaluated=50),
        row("q2", "lean learned", 1.0, steps=3, seconds=2, evaluated=0, abstained=1.0),
        row("q9", "lean learned", 0.0),
    ]
    ((name, questions, right, both, steps, *_),) = _table(made, "Compared with shallow").rows
    assert (name, questions) == ("lean learned", "2")
    assert right.startswith("+25.0 [")
    assert both.startswith("+50.0 ["), "without what either abstained on"
    assert steps.startswith("0.00 [")


def test_the_report_has_each_set_and_all_together() -> None:
    made = [
        *rows("shallow", [0.0, 0.5], lost="recall", recall=0.5),
        *rows("lean learned", [1.0, 0.5], recall=1.0, seconds=20, flagged=0),
        *rows("shallow", [0.0], questions=MUSIQUE, lost="reading"),  # its q0 is not q0 of the other set
        *rows("a|b\nc", [1.0], questions=MUSIQUE),
    ]
    report = markdown(made, "deepthink evaluate <b>")
    assert report == markdown(reversed(made), "deepthink evaluate <b>")
    lines = report.splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        f"## {HOTPOT}, {MODEL}",
        f"## {MUSIQUE}, {MODEL}",
        f"## all sets, {MODEL}",
        "## How to read this",
        "## How it was made",
    ]
    assert "deepthink evaluate <b>" in report
    learned = [line for line in lines if line.startswith("| lean learned | 2 | 75.0 [")]
    assert len(learned) == 2  # of the set and of all sets
    assert re.fullmatch(r"\| lean learned \| 2 \| 75.0 \[50.0, 100.0\] \| 0.0 \|", learned[0])
    assert "| 0.00 [0.00, 0.00] | 10.0 [10.0, 10.0] |" in report
    assert "| shallow | 2 | 2 | 2 | 0 | 0 | 0 |" in report
    assert "| shallow | 3 | 3 | 2 | 0 | 0 | 1 |" in report
    assert "| a\\|b c | 1 | 100.0 [100.0, 100.0] |" in report
    assert "noted" not in "".join(line for line in lines if line.startswith("| system")), "nobody has it"
