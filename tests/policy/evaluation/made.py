"""Rows made up for tests of what is computed from rows."""

from __future__ import annotations

from collections.abc import Sequence

from policy.evaluation.rows import Row

MODEL = "m"
HOTPOT, WIKI, MUSIQUE = "hotpotqa_dev", "2wikimultihopqa_dev", "musique_dev"


def row(
    question: str, system: str, f1: float, *, questions: str = HOTPOT, lost: str = "", **kept: float
) -> Row:
    """One row: an EM of 1 where F1 is, two steps, ten seconds, a hundred tokens if nothing else is said."""
    measures = {
        "em": float(f1 == 1),
        "f1": f1,
        "steps": 2.0,
        "seconds": 10.0,
        "evaluated": 100.0,
        **kept,
    }
    return Row(questions, question, system, MODEL, "short", lost=lost, measures=measures)


def rows(
    system: str, f1: Sequence[float], *, questions: str = HOTPOT, lost: str = "", **kept: float
) -> list[Row]:
    """One row a question, ``q0`` and on."""
    return [row(f"q{i}", system, one, questions=questions, lost=lost, **kept) for i, one in enumerate(f1)]
