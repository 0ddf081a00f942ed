"""A second run: rows of the evaluation made anew from nothing, and held against the committed ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policy.evaluation.rows import Row as Outcome
from policy.evaluation.rows import Rows
from policy.evaluation.summary import SEED_SYSTEM
from tests.benchmarks.evaluation import ROWS, SETS
from tests.benchmarks.table import Row, Table
from tests.conftest import DATA
from traces import paths
from tui.policy.evaluating import Wanted, run_evaluation

_MODEL = "qwen2.5-coder-1.5b"
_QUESTIONS = 2
_COUNTS = ("calls", "evaluated", "reused", "generated")
_COST = {"seconds", *_COUNTS}


def measure() -> Table:
    """The first questions of each set, all systems: libraries are read and every call is made again."""
    files = tuple(str(DATA / "multihop" / f"{name}.jsonl") for name in SETS)
    place = paths.data_dir() / "again"
    place.mkdir(parents=True)
    run_evaluation(Wanted(files, (), (_MODEL,), _QUESTIONS, {SEED_SYSTEM: 1}, 0, place, None))
    return compared(Rows(ROWS).all(), Rows(place / "rows.jsonl").all())


def compared(committed: Iterable[Outcome], again: Sequence[Outcome]) -> Table:
    """How many of the rows that were made again are the committed ones, by system; seconds aside."""
    before = {row.key: row for row in committed}
    rows, notes = [], []
    for system in dict.fromkeys(row.system for row in again):
        mine = [row for row in again if row.system == system and row.key in before]
        other = [row for row in mine if _outcome(row) != _outcome(before[row.key])]
        cost = sum(_counts(row) == _counts(before[row.key]) for row in mine)
        same = len(mine) - len(other)
        told = f"{same} of {len(mine)} outcomes, {cost} of {len(mine)} counts of tokens and calls"
        rows.append(Row(system, told, "all outcomes", met=not other and bool(mine)))
        notes += [
            f"Another outcome: {system}, {row.questions} {row.question}: “{row.short}”, "
            f"committed “{before[row.key].short}”."
            for row in other
        ]
    return Table(
        "again",
        "The evaluation's rows, made a second time",
        rows,
        [
            f"{_MODEL}, the first {_QUESTIONS} questions of {', '.join(SETS)} ({SEED_SYSTEM}: 1).",
            "An outcome is the short answer, why the research ended, where a wrong answer was lost, and "
            "every measure but seconds, tokens and calls.",
            "Tokens evaluated and reused depend on what was asked before: on where a run was cut off.",
            *notes,
        ],
    )


def _outcome(row: Outcome) -> tuple[str, str, str, dict[str, float]]:
    kept = {name: value for name, value in row.measures.items() if name not in _COST}
    return row.short, row.stopped, row.lost, kept


def _counts(row: Outcome) -> list[float | None]:
    return [row.measures.get(name) for name in _COUNTS]
