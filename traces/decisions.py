"""Decisions: as they were taken, what people say of them, and what finishing at each is worth.

A decision has one label, what it should have been according to a person; the last one counts. An outcome is
the measured worth of finishing. It belongs to a state, not to an action: a collected run, in which every
path was explored, has one for every path on which it could have finished, a user's run for the one on which
it did. A later measurement by the same source replaces the earlier one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from traces.errors import DeepthinkError
from traces.store import Queries, Store, columns, insert, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Origin = Literal["override", "teach", "said"]
"""How a label originated: a person stepped in, was asked in teach mode, or gave it afterwards."""

OutcomeSource = Literal["answer", "evidence", "verifier"]
"""Measured on the answer (F1 against gold), on the gold passages found, or by the verifier."""


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision: a step of the Markov decision process."""

    seq: int  # 0-based order within the run
    step: int  # research steps finished at the time
    state_version: int  # version of the state's encoding
    state: Mapping[str, Any]  # the state exactly as the decider saw it (JSON-like)
    valid_actions: tuple[str, ...]  # the actions that could be chosen
    action: str
    probabilities: Mapping[str, float]  # one per action, summing to one
    behaviour_probability: float  # probability with which the acting source takes ``action`` here
    source: str  # ``rules``, ``llm``, ``learned``, ``human`` or ``budget``
    latency_ms: float  # milliseconds the decision took
    justification: str = ""  # the source's reason in words, if it has one
    shadow: bool = False  # True for a second opinion that was recorded but not acted on
    path: str = ""  # first letters of the previous actions, in order: how the state was reached
    text: str = ""  # the state as text, for deciders that read
    features: Mapping[str, float] = field(default_factory=dict)  # the state as numbers, by name


@dataclass(frozen=True, slots=True)
class Label:
    """The action that a decision should have been; ``seq`` is the decision's order within its run."""

    seq: int
    action: str
    origin: Origin = "said"
    note: str = ""
    labelled: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The quality of finishing at a path."""

    path: str  # of the decision at which the run finishes, or would (`DecisionRow.path`)
    source: OutcomeSource
    quality: float  # 0 to 1
    detail: Mapping[str, float] = field(default_factory=dict)  # the underlying measures, by name
    measured: datetime = field(default_factory=now)


def write_decisions(db: DuckDBPyConnection, run_id: str, decisions: Sequence[DecisionRow]) -> None:
    """Append decisions within a running transaction."""
    insert(db, "decisions", [{"run_id": run_id, **columns(d), "taken": now()} for d in decisions])


def write_labels(db: DuckDBPyConnection, run_id: str, labels: Sequence[Label]) -> None:
    """Store labels within a running transaction, replacing earlier ones."""
    insert(db, "labels", [{"run_id": run_id, **columns(label)} for label in labels], replace=True)


def write_outcomes(db: DuckDBPyConnection, run_id: str, outcomes: Sequence[Outcome]) -> None:
    """Store outcomes within a running transaction, replacing earlier ones.

    Their paths must be those of decisions: others are not part of any transition.
    """
    insert(db, "outcomes", [{"run_id": run_id, **columns(outcome)} for outcome in outcomes], replace=True)


class UnknownDecision(DeepthinkError, title="Unknown decision", kind="usage"):
    """Raised when a label is given to a decision that is not in the store, or not yet."""


class ImpossibleLabel(DeepthinkError, title="That action was not possible", kind="usage"):
    """Raised when a label names an action that could not have been taken."""


class Labels(Queries):
    """Queries on labels."""

    def put(self, run_id: str, seq: int, action: str, origin: Origin = "said", note: str = "") -> None:
        """Label a decision; an earlier label of it is replaced.

        Raises `UnknownDecision` if it is not stored, or not yet, in a run in progress, and
        `ImpossibleLabel` if the action could not have been taken then.
        """
        with self._store.transaction() as db:
            valid = _valid_actions(db, run_id, seq)
            if action not in valid:
                raise ImpossibleLabel(
                    f"{action} was not possible at decision {seq + 1} of run {run_id}.",
                    f"Possible: {', '.join(valid)}.",
                )
            write_labels(db, run_id, [Label(seq, action, origin, note)])

    def drop(self, run_id: str, seq: int) -> None:
        """Remove a decision's label, if it has one. Raises `UnknownDecision`."""
        with self._store.transaction() as db:
            _valid_actions(db, run_id, seq)
            db.execute("DELETE FROM labels WHERE run_id = ? AND seq = ?", [run_id, seq])

    def of_run(self, run_id: str) -> dict[int, Label]:
        """The labels of a run's decisions, by their order within the run."""
        labels = self._store.records(Label, "FROM labels WHERE run_id = ? ORDER BY seq", [run_id])
        return {label.seq: label for label in labels}


def _valid_actions(db: DuckDBPyConnection, run_id: str, seq: int) -> list[str]:
    """The actions that were valid for a decision. Raises `UnknownDecision`."""
    row = db.execute(
        "SELECT valid_actions FROM decisions WHERE run_id = ? AND seq = ? AND NOT shadow", [run_id, seq]
    ).fetchone()
    if row is None:
        running = db.execute("SELECT 1 FROM runs WHERE id = ? AND finished IS NULL", [run_id]).fetchone()
        raise UnknownDecision(
            f"Run {run_id} has no stored decision {seq + 1}.",
            f"`deepthink traces show {run_id}` lists its decisions"
            + ("; one in progress is stored at the next step." if running else "."),
        )
    valid: list[str] = json.loads(row[0])
    return valid


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
class Counts:
    """What the store contains to learn from.

    Decisions are those that were acted on; ``shadows`` are second opinions. Counts by name begin with the
    most frequent one.
    """

    runs: int  # runs with at least one decision
    all_runs: int  # runs with decisions and without
    sources: dict[str, int]  # decisions by source; ``actions`` likewise
    actions: dict[str, int]
    versions: dict[int, int]  # decisions by version of the encoding of their state
    origins: dict[str, int]  # labels by origin
    ratings: dict[str, int]
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


def count_decisions(store: Store) -> Counts:
    """Count everything, in a single connection."""

    def count_by(column: str, source: str) -> dict[Any, int]:
        return dict(store.rows(f"SELECT {column}, count(*) FROM {source} GROUP BY 1 ORDER BY 2 DESC, 1"))

    with store.connect():
        table = "decisions WHERE NOT shadow"
        [(runs,)] = store.rows(f"SELECT count(DISTINCT run_id) FROM {table}")
        [(all_runs,)] = store.rows("SELECT count(*) FROM runs")
        [(shadows,)] = store.rows("SELECT count(*) FROM decisions WHERE shadow")
        [(mean,)] = store.rows(f"SELECT avg(quality) FROM ({_FINISHES})")
        return Counts(
            runs=runs,
            all_runs=all_runs,
            sources=count_by("source", table),
            actions=count_by("action", table),
            versions=count_by("state_version", table),
            origins=count_by("origin", "labels"),
            ratings=count_by("rating", "ratings"),
            shadows=shadows,
            qualities=count_by("source", f"({_FINISHES})"),
            mean_quality=mean,
            transitions=count_by("action", "transitions"),
            datasets=store.records(Dataset, _DATASETS),
        )


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
