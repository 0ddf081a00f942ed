"""Outcomes: what finishing at a path of a run is worth, measured; and gold: what is known of its question.

An outcome is of a state, not of an action: a collected run has one for every path on which it could have
finished, a run that a person watched for the one on which it did. A later measurement by the same source
replaces the earlier one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from traces.errors import DeepthinkError
from traces.labels import UnknownDecision
from traces.runs import UnknownRun
from traces.store import Store, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OutcomeSource = Literal["answer", "evidence", "verifier"]
"""Measured on the answer (F1 against gold), on the gold passages held, or by the verifier's share."""
OUTCOME_SOURCES: tuple[OutcomeSource, ...] = get_args(OutcomeSource)


class ImpossibleOutcome(DeepthinkError):
    """Raised when a quality is no number from 0 to 1."""

    title = "That is no quality"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The quality of finishing at a path.

    Attributes:
        path: Of the decision at which the run finishes, or would (`traces.run_records.DecisionRow.path`).
        source: How it was measured.
        quality: 0 to 1.
        detail: The measures behind it, by name.
        measured: When.
    """

    path: str
    source: OutcomeSource
    quality: float
    detail: Mapping[str, float] = field(default_factory=dict)
    measured: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class Gold:
    """What a data set knows of a run's question.

    Attributes:
        dataset: Its name.
        question_id: The question's id within it.
        answers: The answer and its aliases.
        passages: What supports the answer, as the data set names it (JSON-like).
    """

    dataset: str
    question_id: str
    answers: Sequence[str]
    passages: Sequence[Any] = ()


class Outcomes:
    """Queries on outcomes and gold. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        """Store outcomes of a run, in place of earlier ones by the same source.

        Raises:
            UnknownDecision: the run has no decision at one of the paths.
            ImpossibleOutcome: a quality is not from 0 to 1.
        """
        with self._store.transaction() as db:
            rows = db.execute(
                "SELECT path FROM decisions WHERE run_id = ? AND NOT shadow", [run_id]
            ).fetchall()
            known = {row[0] for row in rows}
            for outcome in outcomes:
                if outcome.path not in known:
                    raise UnknownDecision(f"Run {run_id} has no decision at the path “{outcome.path}”.")
            write_outcomes(db, run_id, outcomes)

    def of_run(self, run_id: str) -> list[Outcome]:
        """The outcomes of a run, by path and source."""
        with self._store.connect() as db:
            rows = db.execute(
                """
                SELECT path, source, quality, detail, measured FROM outcomes
                WHERE run_id = ? ORDER BY length(path), path, source
                """,
                [run_id],
            ).fetchall()
        return [Outcome(row[0], row[1], row[2], json.loads(row[3]), row[4]) for row in rows]

    def put_gold(self, run_id: str, gold: Gold) -> None:
        """Store what is known of a run's question, in place of what was known before.

        Raises:
            UnknownRun: there is no such run.
        """
        with self._store.transaction() as db:
            if db.execute("SELECT 1 FROM runs WHERE id = ?", [run_id]).fetchone() is None:
                raise UnknownRun(f"There is no run {run_id}.", "`deepthink runs list` shows the ids.")
            write_gold(db, run_id, gold)

    def gold_of(self, run_id: str) -> Gold | None:
        """What is known of a run's question; None where nothing is."""
        with self._store.connect() as db:
            row = db.execute(
                "SELECT dataset, question_id, answers, passages FROM gold WHERE run_id = ?", [run_id]
            ).fetchone()
        return Gold(row[0], row[1], tuple(json.loads(row[2])), tuple(json.loads(row[3]))) if row else None


def write_outcomes(db: DuckDBPyConnection, run_id: str, outcomes: Sequence[Outcome]) -> None:
    """Store outcomes within a transaction that is under way, in place of earlier ones.

    Their paths have to be those of decisions: others are no part of any transition.

    Raises:
        ImpossibleOutcome: a quality is not from 0 to 1.
    """
    for outcome in outcomes:
        if not (math.isfinite(outcome.quality) and 0 <= outcome.quality <= 1):
            raise ImpossibleOutcome(f"{outcome.quality} is no quality of an answer.", "Give 0 to 1.")
    if outcomes:
        db.executemany(
            "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?)",
            [
                [run_id, x.path, x.source, x.quality, json.dumps(dict(x.detail)), x.measured]
                for x in outcomes
            ],
        )


def write_gold(db: DuckDBPyConnection, run_id: str, gold: Gold) -> None:
    """Store what is known of a run's question within a transaction that is under way."""
    db.execute(
        "INSERT OR REPLACE INTO gold VALUES (?, ?, ?, ?, ?)",
        [
            run_id,
            gold.dataset,
            gold.question_id,
            json.dumps(list(gold.answers)),
            json.dumps(list(gold.passages)),
        ],
    )
