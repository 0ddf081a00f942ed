"""Outcomes: the measured worth of finishing at a path of a run; and gold: the known answer to its question.

An outcome belongs to a state, not to an action: a collected run has one for every path on which it could
have finished, a user's run for the one on which it did. A later measurement by the same source replaces the
earlier one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from traces.errors import DeepthinkError
from traces.rows import columns, insert, select
from traces.store import Store, now

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


class Outcomes:
    """Queries on gold. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def gold_of(self, run_id: str) -> Gold | None:
        """The gold of a run's question; None if there is none."""
        with self._store.connect() as db:
            return next(iter(select(db, Gold, "FROM gold WHERE run_id = ?", [run_id])), None)


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
