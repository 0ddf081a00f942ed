"""Looking at decisions: which runs have some, what finishing at each was worth, what they amount to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from traces.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A run with decisions, as a list shows it.

    Attributes:
        id: Of the run.
        decisions: Without second opinions.
        shadows: Second opinions.
        sources: Who took the decisions, the most frequent first.
        tree: Whether it holds more than one path.
        labels: Decisions that a person labelled.
        rating: The person's, "" if it has none.
        dataset: The data set of its question; "" for a person's own.
        measured: States in which the quality of finishing is known.
        lowest: The lowest of these qualities, None without one.
        highest: The highest.
        quality_sources: Where they are from, by name.
    """

    id: str
    question: str
    status: str
    started: datetime
    decisions: int
    shadows: int
    sources: list[str]
    tree: bool
    labels: int
    rating: str
    dataset: str
    measured: int
    lowest: float | None
    highest: float | None
    quality_sources: list[str]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The questions of a data set (by their ids), the runs on them, and those runs' decisions."""

    name: str
    questions: int
    runs: int
    decisions: int


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """What the decisions of a store amount to as a decision process.

    Attributes:
        shadows: Second opinions.
        qualities: States in which finishing has a known quality, by the source that counts.
        mean_quality: Mean of these, None without one.
        transitions: Steps (state, action, reward, next state, done), by action.
        datasets: By name; a person's own questions have none.
    """

    shadows: int
    qualities: dict[str, int]
    mean_quality: float | None
    transitions: dict[str, int]
    datasets: list[Dataset]


class Traces:
    """Queries on decisions. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def search(
        self, source: str = "", dataset: str = "", labelled: bool = False, limit: int = 20
    ) -> list[TraceSummary]:
        """The runs with decisions that fit, newest first.

        Args:
            source: One of their decisions is by this source; by any if empty.
            dataset: Their question is of this data set; of any or none if empty.
            labelled: A person labelled one of their decisions.
            limit: How many at most.
        """
        conditions, values = ["id IN (SELECT run_id FROM decisions WHERE NOT shadow)"], list[Any]()
        if source:
            conditions.append("id IN (SELECT run_id FROM decisions WHERE NOT shadow AND source = ?)")
            values.append(source)
        if dataset:
            conditions.append("id IN (SELECT run_id FROM gold WHERE dataset = ?)")
            values.append(dataset)
        if labelled:
            conditions.append("id IN (SELECT run_id FROM labels)")
        with self._store.connect() as db:
            rows = db.execute(_SUMMARIES.format(" AND ".join(conditions)), [*values, limit]).fetchall()
        return [TraceSummary(*row) for row in rows]

    def qualities(self, run_id: str) -> dict[str, dict[str, float]]:
        """Of a run's paths: the quality of finishing there by source, the one that counts first."""
        found: dict[str, dict[str, float]] = {}
        with self._store.connect() as db:
            rows = db.execute(
                "SELECT path, source, quality FROM qualities WHERE run_id = ? ORDER BY path, rank", [run_id]
            ).fetchall()
        for path, source, quality in rows:
            found.setdefault(path, {})[source] = quality
        return found

    def gone(self, run_id: str) -> list[str]:
        """Documents that a run held passages of and that the library has no more, as collection/name."""
        with self._store.connect() as db:
            rows = db.execute(
                """
                SELECT DISTINCT collection, name FROM (
                    SELECT e ->> 'collection' AS collection, e ->> 'document' AS name FROM (
                        SELECT unnest(from_json(payload -> 'fresh', '["JSON"]')) AS e FROM events
                        WHERE run_id = ? AND kind = 'EvidenceKept'
                    )
                ) ANTI JOIN documents USING (collection, name) ORDER BY ALL
                """,
                [run_id],
            ).fetchall()
        return [f"{collection}/{name}" for collection, name in rows]

    def counts(self) -> ProcessCounts:
        """Count everything, in one opening of the store."""
        with self._store.connect() as db:
            row = db.execute("SELECT count(*) FROM decisions WHERE shadow").fetchone()
            mean = db.execute(f"SELECT avg(quality) FROM ({_FINISHES})").fetchone()
            datasets = db.execute(
                """
                SELECT dataset, count(DISTINCT question_id), count(DISTINCT run_id), count(*)
                FROM gold JOIN decisions USING (run_id) WHERE NOT shadow GROUP BY ALL ORDER BY ALL
                """
            ).fetchall()
            return ProcessCounts(
                shadows=int(row[0]) if row else 0,
                qualities=_grouped(db, "source", f"({_FINISHES})"),
                mean_quality=mean[0] if mean else None,
                transitions=_grouped(db, "action", "transitions"),
                datasets=[Dataset(*found) for found in datasets],
            )


def _grouped(db: DuckDBPyConnection, column: str, of: str) -> dict[str, int]:
    rows = db.execute(f"SELECT {column}, count(*) FROM {of} GROUP BY 1 ORDER BY 2 DESC, 1").fetchall()
    return dict(rows)


# A label or an outcome may lie on a state from which finishing was not possible: it is none to count.
_FINISHES = "SELECT reward_source AS source, reward AS quality FROM transitions WHERE done"

# The page is cut before anything is counted, so that the counts are of its runs alone.
_SUMMARIES = """
    WITH page AS MATERIALIZED (
        SELECT id, question, status, started FROM runs WHERE {} ORDER BY started DESC, id DESC LIMIT ?
    ), taken AS (
        SELECT run_id, count_if(NOT shadow) AS decisions, count_if(shadow) AS shadows,
            count(DISTINCT length(path)) < count(DISTINCT path) AS tree
        FROM decisions WHERE run_id IN (SELECT id FROM page) GROUP BY run_id
    ), sources AS (
        SELECT run_id, list(source ORDER BY n DESC, source) AS sources FROM (
            SELECT run_id, source, count(*) AS n FROM decisions
            WHERE NOT shadow AND run_id IN (SELECT id FROM page) GROUP BY ALL
        ) GROUP BY run_id
    ), said AS (
        SELECT run_id, count(*) AS n FROM labels WHERE run_id IN (SELECT id FROM page) GROUP BY run_id
    ), worth AS (
        SELECT run_id, count(*) AS n, min(reward) AS lowest, max(reward) AS highest,
            list(DISTINCT reward_source ORDER BY reward_source) AS sources
        FROM transitions WHERE done AND run_id IN (SELECT id FROM page) GROUP BY run_id
    )
    SELECT page.id, question, status, started, taken.decisions, taken.shadows, sources.sources, taken.tree,
        coalesce(said.n, 0), coalesce(rating, ''), coalesce(dataset, ''), coalesce(worth.n, 0),
        worth.lowest, worth.highest, coalesce(worth.sources, [])
    FROM page
    JOIN taken ON taken.run_id = page.id
    JOIN sources ON sources.run_id = page.id
    LEFT JOIN said ON said.run_id = page.id
    LEFT JOIN worth ON worth.run_id = page.id
    LEFT JOIN ratings ON ratings.run_id = page.id
    LEFT JOIN gold ON gold.run_id = page.id
    ORDER BY started DESC, page.id DESC
"""
