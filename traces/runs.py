"""The record of runs: their events, ratings, corrected plans and sessions.

A session is the runs of one conversation, in which a follow-up may refer to earlier questions. A run has
one rating, how good its answer is, and one corrected plan; the last one counts.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, get_args

from traces.decisions import DecisionRow, Label, write_decisions, write_labels
from traces.errors import DeepthinkError
from traces.store import Queries, columns, insert, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COLLECTED = "collected"
"""Status of a run that no user started: collected to learn from, without events and answer."""

RUN_ID = r"^[0-9A-Za-z_-]{1,200}$"
"""Pattern of run ids, including imported ones: they are used as file names."""

Rating = Literal["good", "partly", "wrong"]
RATINGS: tuple[Rating, ...] = get_args(Rating)


ID_DIGITS = 4
"""Minimum length of an id prefix; a shorter one is more likely meant as a name."""


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


@dataclass(frozen=True)  # without slots: `Run` inherits from two records
class RunEnd:
    """How a run ended, and its cost in tokens; ``standalone`` is its question without the session."""

    status: str
    stopped_because: str
    answer: str
    model_calls: int
    evaluated: int
    reused: int
    generated: int
    standalone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(NewRun, RunEnd):
    """A stored run; ``finished`` and ``seconds`` are None while it runs, or if it was killed.

    ``seconds`` is the time spent running, without the time between interruption and resumption.
    """

    id: str
    started: datetime
    finished: datetime | None
    seconds: float | None
    superstep: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event of a run; ``elapsed`` is in seconds since the run began."""

    seq: int
    elapsed: float
    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(Run):
    """A run as shown in lists."""

    doubtful: bool  # see `Runs.is_doubtful`
    rating: str  # the user's, "" if there is none
    decisions: int  # without shadows
    labels: int  # how many of them a person labelled


class UnknownRun(DeepthinkError, title="Unknown run", kind="usage"):
    """Raised when a requested run is not in the store, or an id prefix matches several."""


_DOUBTFUL = """coalesce((
    SELECT arg_max(
        json_array_length(payload, '$.missing') > 0
        OR list_has_any(
            json_extract_string(payload, '$.sentences[*].verdict'), ['unsure', 'partly', 'not']
        ),
        seq
    ) FROM events WHERE run_id = {run} AND kind = 'Answered'
), false)"""


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
        """Append events, decisions and labels, and close the run if it ended, in one transaction.

        ``superstep`` is the round of the graph these events belong to; `Run.superstep` is then at least
        this, so that a resumed run does not store them again.
        """
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

        Raises `UnknownRun` if none matches, or several do, or ``prefix`` is empty.
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
        limit: int = 200,
        offset: int = 0,
    ) -> list[RunSummary]:
        """A page of the matching runs, newest first; an empty argument matches any.

        Each word of ``text`` must occur in the question or the answer, ignoring case.
        """
        where, values = _condition(text, statuses)
        # The page is selected first, so that only its runs are counted.
        query = f"""
            FROM (
                SELECT *, {_DOUBTFUL.format(run="id")} AS doubtful,
                    coalesce((SELECT rating FROM ratings WHERE run_id = id), '') AS rating,
                    (SELECT count(*) FROM decisions WHERE run_id = id AND NOT shadow) AS decisions,
                    (SELECT count(*) FROM labels WHERE run_id = id) AS labels
                FROM (FROM runs WHERE {where} ORDER BY started DESC, id DESC LIMIT ? OFFSET ?)
            ) ORDER BY started DESC, id DESC
        """
        return self._store.records(RunSummary, query, [*values, limit, offset])

    def is_doubtful(self, run_id: str) -> bool:
        """Whether the answer of a run leaves something out, or has a sentence that may not be supported."""
        [(doubtful,)] = self._store.rows(f"SELECT {_DOUBTFUL.format(run='?')}", [run_id])
        return bool(doubtful)

    def count(self, text: str = "", statuses: Sequence[str] = ()) -> int:
        """How many runs `search` would find without a limit."""
        where, values = _condition(text, statuses)
        [(runs,)] = self._store.rows(f"SELECT count(*) FROM runs WHERE {where}", values)
        return int(runs)

    def delete(self, *run_ids: str) -> None:
        """Remove runs and everything stored about them, all or none; unknown ids are ignored.

        A session goes with its last run. The caller must discard the checkpoints, and no process may be
        working on the runs.
        """
        ids = [list(run_ids)]
        with self._store.transaction() as db:
            sessions = db.execute("SELECT DISTINCT session FROM runs WHERE list_contains(?, id)", ids)
            touched = [session for (session,) in sessions.fetchall()]
            delete_runs(db, "list_contains(?, id)", ids)
            db.execute(
                "DELETE FROM sessions WHERE list_contains(?, id) AND id NOT IN (SELECT session FROM runs)",
                [touched],
            )

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
    for table in ("events", "decisions", "labels", "ratings", "plans", "outcomes", "gold"):
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


def _append(db: DuckDBPyConnection, run_id: str, events: Sequence[StoredEvent]) -> None:
    insert(db, "events", [{"run_id": run_id, **columns(event)} for event in events])


def _condition(text: str, statuses: Sequence[str]) -> tuple[str, list[Any]]:
    conditions, values = ["status <> ?"], list[Any]([COLLECTED])
    for word in text.split():
        # `contains` has no wildcards; a word has no line break, so it matches within one of the three.
        conditions.append("contains(lower(concat_ws(chr(10), question, standalone, answer)), lower(?))")
        values.append(word)
    if statuses:
        conditions.append("list_contains(?, status)")
        values.append(list(statuses))
    return " AND ".join(conditions), values


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A run's rating, the user's reason if given, and when."""

    run_id: str
    rating: Rating
    note: str
    rated: datetime


@dataclass(frozen=True, slots=True)
class CorrectedPlan:
    """The look-ups that a run should have planned: each a collection, "" for all, and a question."""

    run_id: str
    lookups: tuple[tuple[str, str], ...]
    corrected: datetime = field(default_factory=now)


R = TypeVar("R", RatingRow, CorrectedPlan)


class _OnePerRun(Queries, Generic[R]):
    """Queries on records of which a run has at most one."""

    _table: ClassVar[str]
    _kind: type[R]

    def of(self, run_id: str) -> R | None:
        """The record of this run; None if it has none."""
        query = f"FROM {self._table} WHERE run_id = ?"
        return next(iter(self._store.records(self._kind, query, [run_id])), None)

    def withdraw(self, run_id: str) -> None:
        """Remove the record of this run, if it has one."""
        with self._store.transaction() as db:
            db.execute(f"DELETE FROM {self._table} WHERE run_id = ?", [run_id])

    def _put(self, record: R) -> None:
        """Store a record in place of an earlier one of its run. Raises `UnknownRun`."""
        with self._store.transaction() as db:
            if db.execute("SELECT 1 FROM runs WHERE id = ?", [record.run_id]).fetchone() is None:
                raise UnknownRun(
                    f"There is no run {record.run_id}.", "`deepthink runs list` shows the ids."
                )
            insert(db, self._table, [columns(record)], replace=True)


class Ratings(_OnePerRun[RatingRow]):
    """Queries on ratings."""

    _table, _kind = "ratings", RatingRow

    def rate(self, run_id: str, rating: Rating, note: str = "") -> None:
        """Rate a run; an earlier rating of it is replaced. Raises `UnknownRun`."""
        self._put(RatingRow(run_id, rating, note, now()))


class CorrectedPlans(_OnePerRun[CorrectedPlan]):
    """Queries on corrected plans."""

    _table, _kind = "plans", CorrectedPlan

    def put(self, run_id: str, lookups: Sequence[tuple[str, str]]) -> None:
        """Store what a run should have looked up, in place of an earlier plan. Raises `UnknownRun`."""
        self._put(CorrectedPlan(run_id, tuple(lookups)))

    def all(self) -> list[CorrectedPlan]:
        """All corrected plans, in the order of their runs' ids."""
        return self._store.records(CorrectedPlan, "FROM plans ORDER BY run_id")


class UnknownSession(DeepthinkError, title="Unknown session", kind="usage"):
    """Raised when a requested session is not in the store, or an id prefix matches several."""


class SeveralSessions(UnknownSession):
    """Raised when an id prefix matches several sessions."""


class NameTaken(DeepthinkError, title="That name cannot be used", kind="usage"):
    """Raised when a session is given an invalid name: empty, or another session's."""


@dataclass(frozen=True, slots=True)
class Session:
    """A stored session; ``name`` is "" until the user names it.

    ``first`` is its first question; ``latest`` is when its last run began, or when it was created.
    """

    id: str
    name: str
    created: datetime
    runs: int
    first: str
    latest: datetime


class Sessions(Queries):
    """Queries on sessions."""

    def begin(self, name: str = "") -> str:
        """Create a session; returns its id, 8 random hex digits.

        Raises `NameTaken` if another session has that name.
        """
        session_id = uuid.uuid4().hex[:8]
        with self._store.transaction() as db:
            if name:
                self._require_free_name(name)
            db.execute("INSERT INTO sessions VALUES (?, ?, ?)", [session_id, name, now()])
        return session_id

    def recent(self, limit: int = 20) -> list[Session]:
        """The most recently used sessions that have a run, newest first."""
        query = f"FROM ({_SESSION}) WHERE runs > 0 ORDER BY latest DESC, id LIMIT ?"
        return self._store.records(Session, query, [limit])

    def find(self, name: str) -> Session:
        """The session with that name or id prefix; ``last`` is the most recently used one.

        An id prefix has at least `ID_DIGITS` digits. Raises `UnknownSession` if none matches, and
        `SeveralSessions` if the prefix matches several ids.
        """
        if name == "last":
            latest = self.recent(1)
            if not latest:
                raise UnknownSession("No session is stored yet.", "Ask something: `deepthink ask …`.")
            return latest[0]
        sessions = self._store.records(Session, f"FROM ({_SESSION}) WHERE name = ? AND name <> ''", [name])
        if not sessions and len(name) >= ID_DIGITS:
            query = f"FROM ({_SESSION}) WHERE starts_with(id, ?) LIMIT 2"
            sessions = self._store.records(Session, query, [name])
        if len(sessions) > 1:
            raise SeveralSessions(f"Several sessions fit “{name}”.", "`deepthink sessions` lists them.")
        if not sessions:
            raise UnknownSession(f"There is no session “{name}”.", "`deepthink sessions` lists them.")
        return sessions[0]

    def rename(self, session_id: str, name: str) -> None:
        """Give a session a name. Raises `NameTaken` if that is empty, ``last``, or another session's."""
        with self._store.transaction() as db:
            if not name.strip() or name == "last":
                raise NameTaken(f"“{name}” is not a valid session name.", "Choose another.")
            self._require_free_name(name, except_id=session_id)
            db.execute("UPDATE sessions SET name = ? WHERE id = ?", [name, session_id])

    def delete(self, session_id: str) -> int:
        """Remove a session, its runs and everything stored about them; returns the number of runs."""
        with self._store.transaction() as db:
            runs = delete_runs(db, "session = ?", [session_id])
            db.execute("DELETE FROM sessions WHERE id = ?", [session_id])
        return runs

    def exchanges(self, session_id: str, before: datetime | None = None) -> list[tuple[str, str]]:
        """The last six answered questions, worded to stand alone, and their answers, oldest first.

        With ``before``, those of runs that began earlier.
        """
        rows = self._store.rows(
            """
            SELECT if(standalone = '', question, standalone), answer FROM runs
            WHERE session = ? AND status IN ('answered', 'not_found') AND coalesce(started < ?, true)
            ORDER BY started DESC, id DESC LIMIT 6
            """,
            [session_id, before],
        )
        return rows[::-1]

    def _require_free_name(self, name: str, except_id: str = "") -> None:
        if self._store.rows("SELECT 1 FROM sessions WHERE name = ? AND id <> ?", [name, except_id]):
            raise NameTaken(f"Another session is called “{name}”.", "Choose another name.")


_SESSION = """
    SELECT s.id, s.name, s.created, count(r.id) AS runs,
        coalesce(arg_min(r.question, r.started), '') AS first, coalesce(max(r.started), s.created) AS latest
    FROM sessions s LEFT JOIN runs r ON r.session = s.id
    GROUP BY s.id, s.name, s.created
"""
