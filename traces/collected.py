"""Collected questions: runs in which every path was explored, stored once per question."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from traces.outcomes import Gold, Outcome, write_gold, write_outcomes
from traces.runs import COLLECTED, DecisionRow, NewRun, delete_runs, write_decisions, write_run
from traces.store import Store, now


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


class Collected:
    """Queries on collected questions. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

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
        with self._store.connect() as db:
            rows = db.execute(
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
            ).fetchall()
        return {row[0] for row in rows}
