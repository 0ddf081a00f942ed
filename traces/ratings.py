"""Ratings: how good a run's answer is according to the user. One per run; the last one counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from traces.errors import DeepthinkError
from traces.rows import columns, insert, select
from traces.runs import require_run
from traces.store import Store, now

Rating = Literal["good", "partly", "wrong"]
RATINGS: tuple[Rating, ...] = get_args(Rating)


class UnknownRating(DeepthinkError):
    """Raised when a rating is not in `RATINGS`."""

    title = "Unknown rating"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A run's rating, the user's reason if given, and when."""

    run_id: str
    rating: Rating
    note: str
    rated: datetime


class Ratings:
    """Queries on ratings. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def rate(self, run_id: str, rating: Rating, note: str = "") -> None:
        """Rate a run; an earlier rating of it is replaced.

        Raises:
            UnknownRun: there is no such run.
            UnknownRating: it is not in `RATINGS`.
        """
        if rating not in RATINGS:
            raise UnknownRating(f"“{rating}” is not a rating.", f"Choose one of: {', '.join(RATINGS)}.")
        with self._store.transaction() as db:
            require_run(db, run_id)
            insert(db, "ratings", [columns(RatingRow(run_id, rating, note, now()))], replace=True)

    def withdraw(self, run_id: str) -> None:
        """Remove a run's rating, if it has one."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM ratings WHERE run_id = ?", [run_id])

    def of(self, run_id: str) -> RatingRow | None:
        """The run's rating, None if it has none."""
        with self._store.connect() as db:
            return next(iter(select(db, RatingRow, "FROM ratings WHERE run_id = ?", [run_id])), None)
