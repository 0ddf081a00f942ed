"""Rows made up for tests of what is computed from rows."""

from __future__ import annotations

from collections.abc import Sequence

from policy.evaluation.evaluating import Row

MODEL = "m"
HOTPOT, MUSIQUE = "hotpotqa_dev", "musique_dev"


def row(
    question: str, system: str, right: float, *, questions: str = HOTPOT, lost: str = "", **kept: float
) -> Row:
    """One row: two steps, ten seconds, a hundred tokens if nothing else is said."""
    measures = {"right": right, "steps": 2.0, "seconds": 10.0, "evaluated": 100.0, **kept}
    return Row(questions, question, system, MODEL, lost=lost, measures=measures)


def rows(
    system: str, right: Sequence[float], *, questions: str = HOTPOT, lost: str = "", **kept: float
) -> list[Row]:
    """One row a question, ``q0`` and on."""
    return [
        row(f"q{i}", system, one, questions=questions, lost=lost, **kept) for i, one in enumerate(right)
    ]
