"""Collected questions: runs of which every path was taken, stored whole, once for each question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from traces.outcomes import Gold, Outcome, write_gold, write_outcomes
from traces.run_records import COLLECTED, DecisionRow
from traces.runs import write_decisions
from traces.store import Store, now


@dataclass(frozen=True, slots=True)
class CollectedQuestion:
    """A question with everything that was collected of it.

    Attributes:
        dataset: Name of the set.
        question_id: Its id there.
        question: In words.
        answers: That are right.
        passages: What supports them, as the library names them.
        embedder: Of the funnel.
        reranker: Of the funnel; "" if it had none.
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
        """The same wherever the question is collected: 12 hex digits, as every run's."""
        return hashlib.sha256(f"{self.dataset}\n{self.question_id}".encode()).hexdigest()[:12]


class Collected:
    """Queries on collected questions. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, question: CollectedQuestion) -> None:
        """Store a question, in place of what was collected of it before."""
        run_id = question.run_id
        with self._store.transaction() as db:
            for table, key in _TABLES.items():
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", [run_id])
            db.execute(
                """
                INSERT INTO runs VALUES
                    (?, ?, 'lean', '', ?, ?, 'explorer', ?, ?, '', '', ?, ?, 0, 0, 0, 0, '', ?, '{}', -2, 0)
                """,
                [
                    run_id,
                    question.question,
                    question.embedder,
                    question.reranker,
                    json.dumps([question.dataset]),
                    COLLECTED,
                    now(),
                    now(),
                    question.question,
                ],
            )
            write_decisions(db, run_id, question.decisions)
            write_outcomes(db, run_id, question.outcomes)
            gold = Gold(question.dataset, question.question_id, question.answers, question.passages)
            write_gold(db, run_id, gold)

    def held(self, dataset: str, *, at_every_state: bool = False) -> set[str]:
        """Ids of the questions of a set that were collected.

        Args:
            dataset: Name of the set.
            at_every_state: Only those of which every state was measured, not the last one alone.
        """
        with self._store.connect() as db:
            rows: list[tuple[Any, ...]] = db.execute(
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


_TABLES = {"runs": "id", "decisions": "run_id", "outcomes": "run_id", "gold": "run_id"}
