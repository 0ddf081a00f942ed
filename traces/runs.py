"""What was done: runs, their events, and every decision as the decider saw it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from traces import run_search
from traces.errors import DeepthinkError
from traces.labels import Label, write_labels
from traces.run_records import COLLECTED, DecisionRow, NewRun, Run, RunEnd, StoredEvent
from traces.run_search import RunSummary
from traces.store import Store, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "DecisionRow",
    "NewRun",
    "Run",
    "RunEnd",
    "RunSummary",
    "Runs",
    "StoredEvent",
    "UnknownRun",
    "delete_runs",
]


class UnknownRun(DeepthinkError):
    """Raised when a run is asked for that the store does not hold, or an id prefix fits several."""

    title = "Unknown run"
    kind = "usage"


class Runs:
    """Queries on what was done. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, run: NewRun, first: Callable[[str], StoredEvent] | None = None) -> str:
        """Store a run that starts now; returns its id: 12 random hex digits, so that a few suffice.

        Args:
            run: The run.
            first: Makes its first event, which knows the id.
        """
        run_id = uuid.uuid4().hex[:12]
        with self._store.transaction() as db:
            if first is not None:
                _append(db, run_id, [first(run_id)])
            db.execute(
                """
                INSERT INTO runs VALUES
                    (?, ?, ?, ?, ?, ?, ?, ?, 'running', '', '', ?, NULL, 0, 0, 0, 0, ?, '', ?, -2, NULL)
                """,
                [
                    run_id,
                    run.question,
                    run.profile,
                    run.chat_model,
                    run.embedder,
                    run.reranker,
                    run.decider,
                    json.dumps(run.collections),
                    now(),
                    run.session,
                    json.dumps(run.request),
                ],
            )
        return run_id

    def reopen(self, run_id: str) -> None:
        """Take back the end of a run that is resumed; the rest of its events stay."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM events WHERE run_id = ? AND kind = 'RunFinished'", [run_id])
            db.execute(
                "UPDATE runs SET status = 'running', finished = NULL, seconds = NULL WHERE id = ?", [run_id]
            )

    def wait(self, run_id: str) -> None:
        """Mark a run that cannot go on before a person has answered it."""
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
            run_id: The run.
            events: In order.
            decisions: Likewise.
            end: How it ended.
            superstep: The round of the graph these events belong to; `Run.superstep` is then at least
                this, which tells a resumed run that it need not store them again.
            labels: Of those decisions that a person took.
        """
        if not events and not decisions and end is None and superstep is None:
            return
        with self._store.transaction() as db:
            if superstep is not None:
                db.execute("UPDATE runs SET superstep = ? WHERE id = ?", [superstep, run_id])
            if events:
                _append(db, run_id, events)
            if decisions:
                write_decisions(db, run_id, decisions)
            if labels:
                write_labels(db, run_id, labels)
            if end is not None:
                db.execute(
                    """
                    UPDATE runs SET status = ?, stopped_because = ?, answer = ?, finished = ?,
                        model_calls = ?, evaluated = ?, reused = ?, generated = ?, standalone = ?,
                        seconds = (
                            SELECT coalesce(
                                max(CAST(payload ->> 'seconds' AS DOUBLE)) FILTER (kind = 'RunFinished'),
                                max(elapsed)
                            ) FROM events WHERE run_id = ?
                        )
                    WHERE id = ?
                    """,
                    [
                        end.status,
                        end.stopped_because,
                        end.answer,
                        now(),
                        end.model_calls,
                        end.evaluated,
                        end.reused,
                        end.generated,
                        end.standalone,
                        run_id,
                        run_id,
                    ],
                )

    def recent(self, limit: int = 20) -> list[Run]:
        """The latest runs that somebody asked, newest first."""
        with self._store.connect() as db:
            rows = db.execute(
                f"{_RUN} WHERE status <> ? ORDER BY started DESC, id DESC LIMIT ?", [COLLECTED, limit]
            ).fetchall()
        return [_run(row) for row in rows]

    def unfinished(self) -> list[Run]:
        """Runs that did not come to an answer's end, newest first: they may be resumable.

        That is those without an end (killed, waiting for a person, or still going on) and those that
        failed or were cancelled.
        """
        with self._store.connect() as db:
            rows = db.execute(
                f"{_RUN} WHERE finished IS NULL OR status IN ('failed', 'cancelled')"
                " ORDER BY started DESC, id DESC"
            ).fetchall()
        return [_run(row) for row in rows]

    def of_session(self, session: str) -> list[Run]:
        """The runs of a session, oldest first."""
        with self._store.connect() as db:
            rows = db.execute(f"{_RUN} WHERE session = ? ORDER BY started, id", [session]).fetchall()
        return [_run(row) for row in rows]

    def find(self, prefix: str) -> Run:
        """The run of that id, or else the one whose id begins so; ``last`` names the newest.

        Raises:
            UnknownRun: none fits, or several do, or nothing is named.
        """
        if not prefix:  # an unset variable in a script, and every id begins so
            raise UnknownRun("No run is named.", "`deepthink runs list` shows the ids.")
        if prefix == "last":
            latest = self.recent(1)
            if not latest:
                raise UnknownRun("No run is stored yet.", "Ask something: `deepthink ask …`.")
            return latest[0]
        with self._store.connect() as db:
            rows = db.execute(f"{_RUN} WHERE id = ?", [prefix]).fetchall()
            if not rows:
                rows = db.execute(f"{_RUN} WHERE starts_with(id, ?) LIMIT 2", [prefix]).fetchall()
        if len(rows) != 1:
            how = "Several runs begin" if rows else "No run begins"
            raise UnknownRun(f"{how} with “{prefix}”.", "`deepthink runs list` shows the ids.")
        return _run(rows[0])

    def search(
        self,
        text: str = "",
        statuses: Sequence[str] = (),
        session: str = "",
        limit: int = 200,
        offset: int = 0,
    ) -> list[RunSummary]:
        """A page of the runs that fit, newest first.

        Args:
            text: Each of its words must stand in the question or the answer, in whatever case.
            statuses: One of these; any if empty.
            session: Id of the session they belong to; any if empty.
            limit: Runs on a page.
            offset: Runs before it.
        """
        with self._store.connect() as db:
            return run_search.search(db, text, statuses, session, limit, offset)

    def count(self, text: str = "", statuses: Sequence[str] = (), session: str = "") -> int:
        """How many runs `search` would find without a limit."""
        with self._store.connect() as db:
            return run_search.count(db, text, statuses, session)

    def delete(self, run_id: str) -> None:
        """Remove a run with all that is stored of it; it is no error if there is none.

        Its checkpoints are the caller's to discard, and no process may be working on it.
        """
        with self._store.transaction() as db:
            delete_runs(db, "id = ?", [run_id])

    def events(self, run_id: str) -> list[StoredEvent]:
        """The events of a run, in order."""
        with self._store.connect() as db:
            rows = db.execute(
                "SELECT seq, elapsed, kind, payload FROM events WHERE run_id = ? ORDER BY seq",
                [run_id],
            ).fetchall()
        return [StoredEvent(row[0], row[1], row[2], json.loads(row[3])) for row in rows]

    def decisions(self, run_id: str) -> list[DecisionRow]:
        """The decisions of a run, in order, shadow decisions included."""
        with self._store.connect() as db:
            rows = db.execute(
                """
                SELECT seq, step, state_version, state, valid_actions, action, probabilities,
                       behaviour_probability, source, latency_ms, justification, shadow, path, text,
                       features
                FROM decisions WHERE run_id = ? ORDER BY seq, shadow
                """,
                [run_id],
            ).fetchall()
        return [_decision(row) for row in rows]


_RUN = """
    SELECT id, question, profile, chat_model, embedder, reranker, decider, collections, status,
           stopped_because, answer, started, finished, model_calls, evaluated, reused, generated,
           session, standalone, request, superstep, seconds
    FROM runs
"""


def delete_runs(db: DuckDBPyConnection, condition: str, values: Sequence[Any]) -> int:
    """Remove the runs that fit with all that is stored of them, within a transaction; how many."""
    for table in ("events", "decisions", "labels", "ratings", "outcomes", "gold"):
        db.execute(
            f"DELETE FROM {table} WHERE run_id IN (SELECT id FROM runs WHERE {condition})", list(values)
        )
    gone = db.execute(f"DELETE FROM runs WHERE {condition}", list(values)).fetchone()
    return int(gone[0]) if gone else 0


def write_decisions(db: DuckDBPyConnection, run_id: str, decisions: Sequence[DecisionRow]) -> None:
    """Append decisions within a transaction that is under way."""
    db.executemany(
        "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [[run_id, *_decision_values(d)] for d in decisions],
    )


def _append(db: DuckDBPyConnection, run_id: str, events: Sequence[StoredEvent]) -> None:
    db.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?)",
        [[run_id, e.seq, e.elapsed, e.kind, json.dumps(e.payload)] for e in events],
    )


def _run(row: tuple[Any, ...]) -> Run:
    values = list(row)
    values[7] = tuple(json.loads(values[7]))
    values[19] = json.loads(values[19])
    return Run(*values)


def _decision(row: tuple[Any, ...]) -> DecisionRow:
    values = list(row)
    values[3], values[4] = json.loads(values[3]), tuple(json.loads(values[4]))
    values[6], values[14] = json.loads(values[6]), json.loads(values[14])
    return DecisionRow(*values)


def _decision_values(d: DecisionRow) -> list[Any]:
    return [
        d.seq,
        d.step,
        d.state_version,
        json.dumps(d.state),
        json.dumps(d.valid_actions),
        d.action,
        json.dumps(d.probabilities),
        d.behaviour_probability,
        d.source,
        d.latency_ms,
        d.justification,
        d.shadow,
        now(),
        d.path,
        d.text,
        json.dumps(d.features),
    ]
