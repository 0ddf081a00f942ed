"""The record of runs: their events, and every decision as the decider saw it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from traces.errors import DeepthinkError
from traces.labels import Label, write_labels
from traces.rows import columns, insert
from traces.store import Queries, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COLLECTED = "collected"
"""Status of a run that no user started: collected to learn from, without events and answer."""

RUN_ID = r"^[0-9A-Za-z_-]{1,200}$"
"""Pattern of run ids, including imported ones: they are used as file names."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run about to begin; ``request`` is the JSON-like request, so that the run can resume."""

    question: str
    profile: str
    chat_model: str
    embedder: str
    reranker: str
    decider: str
    collections: tuple[str, ...]
    session: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, and its cost in tokens; ``standalone`` is its question without the session."""

    status: str
    stopped_because: str
    answer: str
    model_calls: int
    evaluated: int
    reused: int
    generated: int
    standalone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(NewRun):
    """A stored run; ``finished`` and ``seconds`` are None while it runs, or if it was killed.

    ``seconds`` is the time spent running, without the time between interruption and resumption. For the
    fields from ``status`` on, see `RunEnd`.
    """

    id: str
    started: datetime
    finished: datetime | None
    seconds: float | None
    superstep: int
    status: str
    stopped_because: str
    answer: str
    model_calls: int
    evaluated: int
    reused: int
    generated: int
    standalone: str


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event of a run; ``elapsed`` is in seconds since the run began."""

    seq: int
    elapsed: float
    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision: a step of the Markov decision process.

    Attributes:
        seq: 0-based order within the run.
        step: Research steps finished at the time.
        state_version: Version of the state's encoding.
        state: The state exactly as the decider saw it (JSON-like).
        valid_actions: The actions that could be chosen.
        action: The chosen action.
        probabilities: One per action, summing to one.
        behaviour_probability: Probability with which the acting source takes ``action`` here.
        source: ``rules``, ``llm``, ``learned``, ``human`` or ``budget``.
        latency_ms: Milliseconds the decision took.
        justification: The source's reason in words, if it has one.
        shadow: True for a second opinion that was recorded but not acted on.
        path: First letters of the previous actions, in order: how the state was reached.
        text: The state as text, for deciders that read.
        features: The state as numbers, by name.
    """

    seq: int
    step: int
    state_version: int
    state: Mapping[str, Any]
    valid_actions: tuple[str, ...]
    action: str
    probabilities: Mapping[str, float]
    behaviour_probability: float
    source: str
    latency_ms: float
    justification: str = ""
    shadow: bool = False
    path: str = ""
    text: str = ""
    features: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as shown in lists.

    Attributes:
        finished: None while it runs, or if it was killed.
        seconds: Time spent running, without interruptions; None unless it finished.
        rating: The user's, "" if there is none.
        decisions: Number of decisions, without shadows.
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


class UnknownRun(DeepthinkError):
    """Raised when a requested run is not in the store, or an id prefix matches several."""

    title = "Unknown run"
    kind = "usage"


class Runs(Queries):
    """Queries on runs."""

    def begin(self, run: NewRun, run_id: str = "", first: StoredEvent | None = None) -> str:
        """Store a run that starts now, with its first event; returns its id, a new one if none is given."""
        run_id = run_id or new_run_id()
        with self._store.transaction() as db:
            if first is not None:
                _append(db, run_id, [first])
            write_run(db, run_id, run, status="running", started=now(), superstep=-2)
        return run_id

    def reopen(self, run_id: str) -> None:
        """Remove the end of a run that is being resumed; the rest of its events stay."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM events WHERE run_id = ? AND kind = 'RunFinished'", [run_id])
            db.execute(
                "UPDATE runs SET status = 'running', finished = NULL, seconds = NULL WHERE id = ?", [run_id]
            )

    def wait(self, run_id: str) -> None:
        """Mark a run that cannot continue until a person answers."""
        with self._store.transaction() as db:
            db.execute("UPDATE runs SET status = 'waiting' WHERE id = ?", [run_id])

    def record(
        self,
        run_id: str,
        events: Sequence[StoredEvent],
        decisions: Sequence[DecisionRow] = (),
        end: RunEnd | None = None,
        superstep: int | None = None,
        labels: Sequence[Label] = (),
    ) -> None:
        """Append events and decisions, and close the run if it ended, in one transaction.

        Args:
            superstep: The round of the graph these events belong to; `Run.superstep` is then at least
                this, so that a resumed run does not store them again.
            labels: Of the decisions that a person took.
        """
        if not events and not decisions and end is None and superstep is None:
            return
        with self._store.transaction() as db:
            if superstep is not None:
                db.execute("UPDATE runs SET superstep = ? WHERE id = ?", [superstep, run_id])
            _append(db, run_id, events)
            write_decisions(db, run_id, decisions)
            write_labels(db, run_id, labels)
            if end is not None:
                end_columns = columns(end)
                db.execute(
                    f"""
                    UPDATE runs SET {" = ?, ".join(end_columns)} = ?, finished = ?, seconds = (
                        SELECT coalesce(
                            max(CAST(payload ->> 'seconds' AS DOUBLE)) FILTER (kind = 'RunFinished'),
                            max(elapsed)
                        ) FROM events WHERE run_id = ?
                    )
                    WHERE id = ?
                    """,
                    [*end_columns.values(), now(), run_id, run_id],
                )

    def recent(self, limit: int = 20) -> list[Run]:
        """The latest runs started by a user, newest first."""
        return self._select("WHERE status <> ? ORDER BY started DESC, id DESC LIMIT ?", [COLLECTED, limit])

    def unfinished(self) -> list[Run]:
        """Runs that may be resumable, newest first.

        These are runs without an end (killed, waiting for a person, or still running) and those that
        failed or were cancelled.
        """
        return self._select(
            "WHERE finished IS NULL OR status IN ('failed', 'cancelled') ORDER BY started DESC, id DESC"
        )

    def of_session(self, session: str) -> list[Run]:
        """The runs of a session, oldest first."""
        return self._select("WHERE session = ? ORDER BY started, id", [session])

    def find(self, prefix: str) -> Run:
        """The run with that id, or else the one whose id has that prefix; ``last`` is the newest.

        Raises:
            UnknownRun: none matches, or several do, or ``prefix`` is empty.
        """
        if not prefix:  # an unset variable in a script; every id would match
            raise UnknownRun("No run is named.", "`deepthink runs list` shows the ids.")
        if prefix == "last":
            latest = self.recent(1)
            if not latest:
                raise UnknownRun("No run is stored yet.", "Ask something: `deepthink ask …`.")
            return latest[0]
        runs = self._select("WHERE id = ?", [prefix])
        runs = runs or self._select("WHERE starts_with(id, ?) LIMIT 2", [prefix])
        if len(runs) != 1:
            problem = "Several runs begin" if runs else "No run begins"
            raise UnknownRun(f"{problem} with “{prefix}”.", "`deepthink runs list` shows the ids.")
        return runs[0]

    def search(
        self,
        text: str = "",
        statuses: Sequence[str] = (),
        session: str = "",
        limit: int = 200,
        offset: int = 0,
    ) -> list[RunSummary]:
        """A page of the matching runs, newest first.

        Args:
            text: Each of its words must occur in the question or the answer, ignoring case.
            statuses: One of these; any if empty.
            session: Id of the session they belong to; any if empty.
        """
        where, values = _condition(text, statuses, session)
        # The page is selected first, so that only its runs are counted.
        query = f"""
            FROM (
                SELECT *, coalesce((SELECT rating FROM ratings WHERE run_id = id), '') AS rating,
                    (SELECT count(*) FROM decisions WHERE run_id = id AND NOT shadow) AS decisions,
                    (SELECT count(*) FROM labels WHERE run_id = id) AS labels
                FROM (FROM runs WHERE {where} ORDER BY started DESC, id DESC LIMIT ? OFFSET ?)
            ) ORDER BY started DESC, id DESC
        """
        return self._store.records(RunSummary, query, [*values, limit, offset])

    def count(self, text: str = "", statuses: Sequence[str] = (), session: str = "") -> int:
        """How many runs `search` would find without a limit."""
        where, values = _condition(text, statuses, session)
        [(runs,)] = self._store.rows(f"SELECT count(*) FROM runs WHERE {where}", values)
        return int(runs)

    def delete(self, *run_ids: str) -> None:
        """Remove runs and everything stored about them, all or none; unknown ids are ignored.

        The caller must discard their checkpoints, and no process may be working on them.
        """
        with self._store.transaction() as db:
            delete_runs(db, "list_contains(?, id)", [list(run_ids)])

    def events(self, run_id: str) -> list[StoredEvent]:
        """The events of a run, in order."""
        return self._store.records(StoredEvent, "FROM events WHERE run_id = ? ORDER BY seq", [run_id])

    def decisions(self, run_id: str) -> list[DecisionRow]:
        """The decisions of a run, in order, shadow decisions included."""
        query = "FROM decisions WHERE run_id = ? ORDER BY seq, shadow"
        return self._store.records(DecisionRow, query, [run_id])

    def _select(self, condition: str, values: Sequence[Any] = ()) -> list[Run]:
        return self._store.records(Run, f"FROM runs {condition}", values)


def new_run_id() -> str:
    """A run id: 12 random hex digits, so that a short prefix suffices."""
    return uuid.uuid4().hex[:12]


def delete_runs(db: DuckDBPyConnection, condition: str, values: Sequence[Any]) -> int:
    """Remove the matching runs and everything stored about them, within a transaction; returns how many."""
    for table in ("events", "decisions", "labels", "ratings", "outcomes", "gold"):
        db.execute(
            f"DELETE FROM {table} WHERE run_id IN (SELECT id FROM runs WHERE {condition})", list(values)
        )
    deleted = db.execute(f"DELETE FROM runs WHERE {condition}", list(values)).fetchone()
    return int(deleted[0]) if deleted else 0


def write_run(db: DuckDBPyConnection, run_id: str, run: NewRun, **state: Any) -> None:
    """Store a run within a running transaction; ``state`` has columns beyond those of `NewRun`."""
    empty = dict.fromkeys(("stopped_because", "answer", "standalone"), "")
    costs = dict.fromkeys(("model_calls", "evaluated", "reused", "generated"), 0)
    insert(db, "runs", [{"id": run_id, **columns(run), **empty, **costs, **state}])


def write_decisions(db: DuckDBPyConnection, run_id: str, decisions: Sequence[DecisionRow]) -> None:
    """Append decisions within a running transaction."""
    insert(db, "decisions", [{"run_id": run_id, **columns(d), "taken": now()} for d in decisions])


def _append(db: DuckDBPyConnection, run_id: str, events: Sequence[StoredEvent]) -> None:
    insert(db, "events", [{"run_id": run_id, **columns(event)} for event in events])


def _condition(text: str, statuses: Sequence[str], session: str) -> tuple[str, list[Any]]:
    conditions, values = ["status <> ?"], list[Any]([COLLECTED])
    for word in text.split():
        # `contains` has no wildcards; a word has no line break, so it matches within one of the three.
        conditions.append("contains(lower(concat_ws(chr(10), question, standalone, answer)), lower(?))")
        values.append(word)
    if statuses:
        conditions.append("list_contains(?, status)")
        values.append(list(statuses))
    if session:
        conditions.append("session = ?")
        values.append(session)
    return " AND ".join(conditions), values
