"""Ratings: how good a run's answer is according to the user. One per run; the last one counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from traces.rows import columns, insert
from traces.runs import UnknownRun
from traces.store import Queries, now

Rating = Literal["good", "partly", "wrong"]
RATINGS: tuple[Rating, ...] = get_args(Rating)


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A run's rating, the user's reason if given, and when."""

    run_id: str
    rating: Rating
    note: str
    rated: datetime


class Ratings(Queries):
    """Queries on ratings."""

    def rate(self, run_id: str, rating: Rating, note: str = "") -> None:
        """Rate a run; an earlier rating of it is replaced. Raises `UnknownRun`."""
        with self._store.transaction() as db:
            if db.execute("SELECT 1 FROM runs WHERE id = ?", [run_id]).fetchone() is None:
                raise UnknownRun(f"There is no run {run_id}.", "`deepthink runs list` shows the ids.")
            insert(db, "ratings", [columns(RatingRow(run_id, rating, note, now()))], replace=True)

    def withdraw(self, run_id: str) -> None:
        """Remove a run's rating, if it has one."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM ratings WHERE run_id = ?", [run_id])

    def of(self, run_id: str) -> RatingRow | None:
        """The run's rating, None if it has none."""
        return next(iter(self._store.records(RatingRow, "FROM ratings WHERE run_id = ?", [run_id])), None)
