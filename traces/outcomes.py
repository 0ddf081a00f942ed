"""Outcomes: the measured worth of finishing at a path of a run; gold: the known answer to its question;
and collected questions: runs in which every path was explored, stored once per question.

An outcome belongs to a state, not to an action: a collected run has one for every path on which it could
have finished, a user's run for the one on which it did. A later measurement by the same source replaces the
earlier one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from traces.errors import DeepthinkError
from traces.rows import columns, insert
from traces.runs import COLLECTED, DecisionRow, NewRun, delete_runs, write_decisions, write_run
from traces.store import Queries, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OutcomeSource = Literal["answer", "evidence", "verifier"]
"""Measured on the answer (F1 against gold), on the gold passages found, or by the verifier."""


class ImpossibleOutcome(DeepthinkError):
    """Raised when a quality is not a number from 0 to 1."""

    title = "Not a valid quality"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The quality of finishing at a path.

    Attributes:
        path: Of the decision at which the run finishes, or would (`traces.runs.DecisionRow.path`).
        quality: 0 to 1.
        detail: The underlying measures, by name.
    """

    path: str
    source: OutcomeSource
    quality: float
    detail: Mapping[str, float] = field(default_factory=dict)
    measured: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class Gold:
    """A data set's record of a run's question: answer and aliases, and the supporting passages."""

    dataset: str
    question_id: str
    answers: Sequence[str]
    passages: Sequence[Any] = ()


def write_outcomes(db: DuckDBPyConnection, run_id: str, outcomes: Sequence[Outcome]) -> None:
    """Store outcomes within a running transaction, replacing earlier ones.

    Their paths must be those of decisions: others are not part of any transition.

    Raises:
        ImpossibleOutcome: a quality is not from 0 to 1.
    """
    for outcome in outcomes:
        if not (math.isfinite(outcome.quality) and 0 <= outcome.quality <= 1):
            raise ImpossibleOutcome(f"{outcome.quality} is not a quality.", "Give 0 to 1.")
    insert(db, "outcomes", [{"run_id": run_id, **columns(outcome)} for outcome in outcomes], replace=True)


def write_gold(db: DuckDBPyConnection, run_id: str, gold: Gold) -> None:
    """Store the gold of a run's question within a running transaction."""
    insert(db, "gold", [{"run_id": run_id, **columns(gold)}], replace=True)


@dataclass(frozen=True, slots=True)
class CollectedQuestion:
    """A question with everything that was collected on it.

    Attributes:
        dataset: Name of the set.
        question_id: Its id there.
        passages: The supporting passages, as the library names them.
        decisions: A row for each state.
        outcomes: At least one for each state that was measured.
    """

    dataset: str
    question_id: str
    question: str
    answers: Sequence[str]
    passages: Sequence[str]
    embedder: str
    reranker: str
    decisions: Sequence[DecisionRow]
    outcomes: Sequence[Outcome]

    @property
    def run_id(self) -> str:
        """The same wherever the question is collected: 12 hex digits, like every run's."""
        return hashlib.sha256(f"{self.dataset}\n{self.question_id}".encode()).hexdigest()[:12]


class Collected(Queries):
    """Queries on collected questions."""

    def put(self, question: CollectedQuestion) -> None:
        """Store a question, replacing an earlier collection of it."""
        run_id, measured = question.run_id, now()
        run = NewRun(
            question.question,
            "lean",
            "",
            question.embedder,
            question.reranker,
            "explorer",
            (question.dataset,),
        )
        with self._store.transaction() as db:
            delete_runs(db, "id = ?", [run_id])
            write_run(
                db,
                run_id,
                run,
                status=COLLECTED,
                started=measured,
                finished=measured,
                standalone=question.question,
                superstep=-2,
                seconds=0,
            )
            write_decisions(db, run_id, question.decisions)
            write_outcomes(db, run_id, question.outcomes)
            gold = Gold(question.dataset, question.question_id, question.answers, question.passages)
            write_gold(db, run_id, gold)

    def held(self, dataset: str, *, at_every_state: bool = False) -> set[str]:
        """Ids of the collected questions of a set; ``at_every_state``: of those measured everywhere."""
        rows = self._store.rows(
            """
            SELECT question_id FROM gold JOIN runs ON runs.id = gold.run_id
            WHERE dataset = ? AND status = ? AND NOT (
                ? AND EXISTS (
                    FROM decisions ANTI JOIN outcomes USING (run_id, path)
                    WHERE decisions.run_id = runs.id
                )
            )
            """,
            [dataset, COLLECTED, at_every_state],
        )
        return {row[0] for row in rows}
