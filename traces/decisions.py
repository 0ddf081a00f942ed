"""Decisions: runs with decisions, the worth of finishing at each, counts, agreement of sources.

An outcome is the measured worth of finishing. It belongs to a state, not to an action: a collected run, in
which every path was explored, has one for every path on which it could have finished, a user's run for the
one on which it did. A later measurement by the same source replaces the earlier one. Gold is the known
answer.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from traces.errors import DeepthinkError
from traces.runs import COLLECTED, DecisionRow, NewRun, delete_runs, write_decisions, write_run
from traces.store import Queries, Store, columns, insert, now, select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OutcomeSource = Literal["answer", "evidence", "verifier"]
"""Measured on the answer (F1 against gold), on the gold passages found, or by the verifier."""


class ImpossibleOutcome(DeepthinkError, title="Not a valid quality", kind="usage"):
    """Raised when a quality is not a number from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The quality of finishing at a path."""

    path: str  # of the decision at which the run finishes, or would (`traces.runs.DecisionRow.path`)
    source: OutcomeSource
    quality: float  # 0 to 1
    detail: Mapping[str, float] = field(default_factory=dict)  # the underlying measures, by name
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

    Their paths must be those of decisions: others are not part of any transition. Raises
    `ImpossibleOutcome` if a quality is not from 0 to 1.
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
    """A question with everything that was collected on it."""

    dataset: str
    question_id: str  # its id there
    question: str
    answers: Sequence[str]
    embedder: str
    reranker: str
    decisions: Sequence[DecisionRow]  # a row for each state
    outcomes: Sequence[Outcome]  # at least one for each state that was measured

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
            write_gold(db, run_id, Gold(question.dataset, question.question_id, question.answers))

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


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A run with decisions, as shown in lists."""

    id: str
    question: str
    status: str
    started: datetime
    decisions: int  # without second opinions
    shadows: int  # second opinions
    sources: list[str]  # sources of the decisions, the most frequent first
    tree: bool  # whether it has more than one path
    labels: int  # decisions labelled by a person
    rating: str
    dataset: str  # the data set of its question; "" for the user's own
    measured: int  # states in which the quality of finishing is known, from ``lowest`` to ``highest``
    lowest: float | None
    highest: float | None
    quality_sources: list[str]  # the sources of these qualities, by name


@dataclass(frozen=True, slots=True)
class Dataset:
    """The questions of a data set (by their ids), the runs on them, and those runs' decisions."""

    name: str
    questions: int
    runs: int
    decisions: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two sources chose the same action, of the states in which both did choose."""

    agreed: int
    compared: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What the store contains to learn from.

    Decisions are those that were acted on; ``shadows`` are second opinions. Counts by name begin with the
    most frequent one.
    """

    runs: int  # runs with at least one decision
    sources: dict[str, int]  # decisions by source; ``actions`` likewise
    actions: dict[str, int]
    versions: dict[int, int]  # decisions by version of the encoding of their state
    origins: dict[str, int]  # labels by origin
    ratings: dict[str, int]
    agreement: dict[str, Agreement]  # by the names of both sources, a person last
    shadows: int
    qualities: dict[str, int]  # states in which finishing has a known quality, by the source that counts
    mean_quality: float | None
    transitions: dict[str, int]  # steps (state, action, reward, next state, done), by action
    datasets: list[Dataset]  # by name; the user's own questions have none


class Traces(Queries):
    """Queries on decisions."""

    def latest(self, limit: int = 20) -> list[TraceSummary]:
        """At most ``limit`` runs with decisions, newest first."""
        return self._store.records(TraceSummary, _SUMMARIES, [limit])

    def qualities(self, run_id: str) -> dict[str, dict[str, float]]:
        """By path of a run, the quality of finishing there by source; the one that counts is first."""
        by_path: dict[str, dict[str, float]] = {}
        rows = self._store.rows(
            "SELECT path, source, quality FROM qualities WHERE run_id = ? ORDER BY path, rank", [run_id]
        )
        for path, source, quality in rows:
            by_path.setdefault(path, {})[source] = quality
        return by_path

    def gold(self, run_id: str) -> Gold | None:
        """The gold of a run's question; None if there is none."""
        return next(iter(self._store.records(Gold, "FROM gold WHERE run_id = ?", [run_id])), None)

    def gone(self, run_id: str) -> list[str]:
        """Documents of a run's passages that are no longer in the library, as collection/name."""
        rows = self._store.rows(
            """
            SELECT DISTINCT collection, name FROM (
                SELECT e ->> 'collection' AS collection, e ->> 'document' AS name FROM (
                    SELECT unnest(from_json(payload -> 'fresh', '["JSON"]')) AS e FROM events
                    WHERE run_id = ? AND kind = 'EvidenceKept'
                )
            ) ANTI JOIN documents USING (collection, name) ORDER BY ALL
            """,
            [run_id],
        )
        return [f"{collection}/{name}" for collection, name in rows]


def count_decisions(store: Store) -> Counts:
    """Count everything, in a single connection."""
    with store.connect() as db:
        table = "decisions WHERE NOT shadow"
        [(runs,)] = db.execute(f"SELECT count(DISTINCT run_id) FROM {table}").fetchall()
        [(shadows,)] = db.execute("SELECT count(*) FROM decisions WHERE shadow").fetchall()
        [(mean,)] = db.execute(f"SELECT avg(quality) FROM ({_FINISHES})").fetchall()
        agreement = {pair: Agreement(*counts) for pair, *counts in db.execute(_AGREEMENT).fetchall()}
        return Counts(
            runs=runs,
            sources=_count_by(db, "source", table),
            actions=_count_by(db, "action", table),
            versions=_count_by(db, "state_version", table),
            origins=_count_by(db, "origin", "labels"),
            ratings=_count_by(db, "rating", "ratings"),
            agreement=agreement,
            shadows=shadows,
            qualities=_count_by(db, "source", f"({_FINISHES})"),
            mean_quality=mean,
            transitions=_count_by(db, "action", "transitions"),
            datasets=select(db, Dataset, _DATASETS),
        )


def _count_by(db: DuckDBPyConnection, column: str, source: str) -> dict[Any, int]:
    rows = db.execute(f"SELECT {column}, count(*) FROM {source} GROUP BY 1 ORDER BY 2 DESC, 1").fetchall()
    return dict(rows)


# A state with a label or an outcome in which finishing was not possible does not count.
_FINISHES = "SELECT reward_source AS source, reward AS quality FROM transitions WHERE done"

_DATASETS = """
    FROM (
        SELECT dataset AS name, count(DISTINCT question_id) AS questions,
            count(DISTINCT run_id) AS runs, count(*) AS decisions
        FROM gold JOIN decisions USING (run_id) WHERE NOT shadow GROUP BY ALL
    ) ORDER BY ALL
"""


# The page is selected first, so that only its runs are counted.
_SUMMARIES = """
    FROM (WITH page AS MATERIALIZED (
        SELECT id, question, status, started FROM runs
        WHERE id IN (SELECT run_id FROM decisions WHERE NOT shadow) ORDER BY started DESC, id DESC LIMIT ?
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
    SELECT page.*, decisions, shadows, sources.sources, tree, coalesce(said.n, 0) AS labels,
        coalesce(rating, '') AS rating, coalesce(dataset, '') AS dataset, coalesce(worth.n, 0) AS measured,
        lowest, highest, coalesce(worth.sources, []) AS quality_sources
    FROM page
    JOIN taken ON taken.run_id = page.id
    JOIN sources ON sources.run_id = page.id
    LEFT JOIN said ON said.run_id = page.id
    LEFT JOIN worth ON worth.run_id = page.id
    LEFT JOIN ratings ON ratings.run_id = page.id
    LEFT JOIN gold ON gold.run_id = page.id)
    ORDER BY started DESC, id DESC
"""


# An opinion is the choice of one source in one state: as the acting source, as a shadow, or as a person's
# label. A person who acted has a label, except for "answer now", which is not an opinion; nor is a budget
# decision; and if only one action was possible, all agree.
_AGREEMENT = """
    WITH judged AS (
        SELECT run_id, seq FROM decisions
        WHERE NOT shadow AND json_array_length(valid_actions) > 1
    ), opinions AS (
        SELECT run_id, seq, source, action FROM decisions WHERE source NOT IN ('human', 'budget')
        UNION ALL
        SELECT run_id, seq, 'human', action FROM labels
    ), ranked AS (
        SELECT *, coalesce(list_position(['learned', 'llm', 'rules', 'human'], source), 0) AS rank
        FROM opinions
    )
    SELECT a.source || ' and ' || b.source, count_if(a.action = b.action), count(*)
    FROM judged JOIN ranked a USING (run_id, seq) JOIN ranked b USING (run_id, seq)
    WHERE (a.rank, a.source) < (b.rank, b.source)
    GROUP BY ALL ORDER BY ALL
"""
