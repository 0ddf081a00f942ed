"""Collected questions: every path of a data set's question, with what finishing at each is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from traces.decisions import DecisionRow, Outcome, write_decisions, write_outcomes
from traces.runs import COLLECTED, NewRun, delete_runs, write_run
from traces.store import Queries, columns, insert, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Gold:
    """A data set's record of a run's question: answer and aliases, and the supporting passages."""

    dataset: str
    question_id: str
    answers: Sequence[str]
    passages: Sequence[Any] = ()

    @property
    def run_id(self) -> str:
        """Of its run, wherever it is collected: 12 hex digits, like every run's."""
        return hashlib.sha256(f"{self.dataset}\n{self.question_id}".encode()).hexdigest()[:12]


def write_gold(db: DuckDBPyConnection, run_id: str, gold: Gold) -> None:
    """Store the gold of a run's question within a running transaction."""
    insert(db, "gold", [{"run_id": run_id, **columns(gold)}], replace=True)


class Collected(Queries):
    """Queries on collected questions."""

    def put(
        self,
        gold: Gold,
        question: str,
        decisions: Sequence[DecisionRow],
        outcomes: Sequence[Outcome],
        *,
        embedder: str,
        reranker: str,
    ) -> None:
        """Store a question, replacing an earlier collection of it.

        ``decisions`` has a row for each state, ``outcomes`` at least one for each state that was measured.
        """
        run_id, at = gold.run_id, now()
        run = NewRun(question, "lean", "", embedder, reranker, "explorer", (gold.dataset,))
        with self._store.transaction() as db:
            delete_runs(db, "id = ?", [run_id])
            ended = {"status": COLLECTED, "started": at, "finished": at, "seconds": 0}
            write_run(db, run_id, run, standalone=question, superstep=-2, **ended)
            write_decisions(db, run_id, decisions)
            write_outcomes(db, run_id, outcomes)
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

    def gold(self, run_id: str) -> Gold | None:
        """The gold of a run's question; None if there is none."""
        return next(iter(self._store.records(Gold, "FROM gold WHERE run_id = ?", [run_id])), None)
