"""Finding runs: a page of summaries by words, status and session, without their events or answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from traces.run_records import COLLECTED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a list shows it.

    Attributes:
        finished: None while it runs, or if it was killed.
        seconds: Spent running, without those between being cut off and resumed; None unless it finished.
        rating: The person's, "" if it has none.
        decisions: How many were taken, without shadow decisions.
        labels: How many of them a person labelled.
    """

    id: str
    question: str
    status: str
    started: datetime
    finished: datetime | None
    seconds: float | None
    profile: str
    chat_model: str
    decider: str
    session: str
    rating: str
    decisions: int
    labels: int


def search(
    db: DuckDBPyConnection, text: str, statuses: Sequence[str], session: str, limit: int, offset: int
) -> list[RunSummary]:
    """A page of the runs that fit, newest first; see `traces.runs.Runs.search`."""
    where, values = _condition(text, statuses, session)
    # The page is cut before anything is counted, so that the counts are of its runs alone.
    rows = db.execute(
        f"""
        WITH page AS MATERIALIZED (
            SELECT id, question, status, started, finished, seconds, profile, chat_model, decider, session
            FROM runs WHERE {where} ORDER BY started DESC, id DESC LIMIT ? OFFSET ?
        ), taken AS (
            SELECT run_id, count(*) AS n FROM decisions
            WHERE NOT shadow AND run_id IN (SELECT id FROM page) GROUP BY run_id
        ), said AS (
            SELECT run_id, count(*) AS n FROM labels
            WHERE run_id IN (SELECT id FROM page) GROUP BY run_id
        )
        SELECT page.*, coalesce(rating, ''), coalesce(taken.n, 0), coalesce(said.n, 0)
        FROM page
        LEFT JOIN ratings ON ratings.run_id = page.id
        LEFT JOIN taken ON taken.run_id = page.id
        LEFT JOIN said ON said.run_id = page.id
        ORDER BY started DESC, id DESC
        """,
        [*values, limit, offset],
    ).fetchall()
    return [RunSummary(*row) for row in rows]


def count(db: DuckDBPyConnection, text: str, statuses: Sequence[str], session: str) -> int:
    """How many runs fit."""
    where, values = _condition(text, statuses, session)
    row = db.execute(f"SELECT count(*) FROM runs WHERE {where}", values).fetchone()
    return int(row[0]) if row else 0


def _condition(text: str, statuses: Sequence[str], session: str) -> tuple[str, list[Any]]:
    conditions, values = ["status <> ?"], list[Any]([COLLECTED])
    for word in text.split():
        # `contains` knows no wildcards; a word has no line break, so it fits within one of the three.
        conditions.append("contains(lower(concat_ws(chr(10), question, standalone, answer)), lower(?))")
        values.append(word)
    if statuses:
        conditions.append("list_contains(?, status)")
        values.append(list(statuses))
    if session:
        conditions.append("session = ?")
        values.append(session)
    return " AND ".join(conditions), values
