"""Counting what was decided: by source and action, what people said of it, and who agreed with whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from traces.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two sources took the same action in the same state, on one day (UTC).

    Attributes:
        day: When the decisions were taken.
        first: A source; of a pair always the same one, so that ``human`` is never first.
        second: The other.
        agreed: Decisions in which their actions were the same.
        compared: Decisions that both judged.
    """

    day: date
    first: str
    second: str
    agreed: int
    compared: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What the store holds to learn from. Decisions are those that were acted on, without shadows.

    Attributes:
        runs: Runs with at least one decision.
        sources: Decisions by source, the most frequent first.
        actions: Decisions by action, likewise.
        versions: Decisions by version of their state's encoding.
        origins: Labels by origin.
        ratings: Rated runs by rating.
        agreement: By day, then by pair.
    """

    runs: int
    sources: dict[str, int]
    actions: dict[str, int]
    versions: dict[int, int]
    origins: dict[str, int]
    ratings: dict[str, int]
    agreement: list[Agreement]


def count_decisions(store: Store) -> Counts:
    """Count everything, in one opening of the store."""
    with store.connect() as db:
        row = db.execute("SELECT count(DISTINCT run_id) FROM decisions WHERE NOT shadow").fetchone()
        return Counts(
            runs=int(row[0]) if row else 0,
            sources=_grouped(db, "source", "decisions WHERE NOT shadow"),
            actions=_grouped(db, "action", "decisions WHERE NOT shadow"),
            versions=_grouped(db, "state_version", "decisions WHERE NOT shadow"),
            origins=_grouped(db, "origin", "labels"),
            ratings=_grouped(db, "rating", "ratings"),
            agreement=[Agreement(*row) for row in db.execute(_AGREEMENT).fetchall()],
        )


def _grouped(db: DuckDBPyConnection, column: str, of: str) -> dict[Any, int]:
    rows = db.execute(f"SELECT {column}, count(*) FROM {of} GROUP BY 1 ORDER BY 2 DESC, 1").fetchall()
    return dict(rows)


# An opinion is what one source would do in one state: as the source that acted, as a shadow, or as the
# person's label. A person who acted has a label, unless they only wanted the answer now, which judges
# nothing; the budget judges nothing either; and where only one action was possible, all agree.
_AGREEMENT = """
    WITH judged AS (
        SELECT run_id, seq, CAST(taken AS DATE) AS day FROM decisions
        WHERE NOT shadow AND json_array_length(valid_actions) > 1
    ), opinions AS (
        SELECT run_id, seq, source, action FROM decisions WHERE source NOT IN ('human', 'budget')
        UNION ALL
        SELECT run_id, seq, 'human', action FROM labels
    ), ranked AS (
        SELECT *, coalesce(list_position(['learned', 'llm', 'rules', 'human'], source), 0) AS rank
        FROM opinions
    )
    SELECT day, a.source, b.source, count_if(a.action = b.action), count(*)
    FROM judged JOIN ranked a USING (run_id, seq) JOIN ranked b USING (run_id, seq)
    WHERE (a.rank, a.source) < (b.rank, b.source)
    GROUP BY ALL ORDER BY day, a.source, b.source
"""
