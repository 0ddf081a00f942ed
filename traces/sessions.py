"""Sessions: the runs of one conversation, in which a follow-up may lean on what was asked before."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from traces.errors import DeepthinkError
from traces.rows import select
from traces.runs import delete_runs
from traces.store import Store, now

ID_DIGITS = 4
"""From so many digits on the beginning of an id stands for it; fewer are far likelier meant as a name."""


class UnknownSession(DeepthinkError):
    """Raised when a session is asked for that the store does not hold, or an id prefix fits several."""

    title = "Unknown session"
    kind = "usage"


class SeveralSessions(UnknownSession):
    """Raised when the beginning of an id fits several sessions."""


class NameTaken(DeepthinkError):
    """Raised when a session is given a name that cannot be its own: empty, or another session's."""

    title = "That name cannot be used"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Session:
    """A stored session; ``name`` is "" until a person names it.

    ``first`` is the question it began with; ``latest`` is when its last run began, or when it was made.
    """

    id: str
    name: str
    created: datetime
    runs: int
    first: str
    latest: datetime


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answered question of a session, as a question of its own."""

    question: str
    answer: str


class Sessions:
    """Queries on sessions. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, name: str = "") -> str:
        """A new session; returns its id, 8 random hex digits.

        Raises:
            NameTaken: another session has that name.
        """
        session_id = uuid.uuid4().hex[:8]
        with self._store.transaction() as db:
            if name:
                self._free(name)
            db.execute("INSERT INTO sessions VALUES (?, ?, ?)", [session_id, name, now()])
        return session_id

    def recent(self, limit: int = 20) -> list[Session]:
        """The sessions used last, newest first."""
        with self._store.connect() as db:
            return select(db, Session, f"FROM ({_SESSION}) ORDER BY latest DESC, id LIMIT ?", [limit])

    def find(self, wanted: str) -> Session:
        """The session of that name, or whose id begins so; ``last`` names the one used last.

        Raises:
            UnknownSession: none fits. Fewer than `ID_DIGITS` digits are no beginning of an id.
            SeveralSessions: the id of more than one begins so.
        """
        if wanted == "last":
            latest = self.recent(1)
            if not latest:
                raise UnknownSession("No session is stored yet.", "Ask something: `deepthink ask …`.")
            return latest[0]
        with self._store.connect() as db:
            named = f"FROM ({_SESSION}) WHERE name = ? AND name <> ''"
            sessions = select(db, Session, named, [wanted])
            if not sessions and len(wanted) >= ID_DIGITS:
                begun = f"FROM ({_SESSION}) WHERE starts_with(id, ?) LIMIT 2"
                sessions = select(db, Session, begun, [wanted])
        if len(sessions) > 1:
            raise SeveralSessions(f"Several sessions fit “{wanted}”.", "`deepthink sessions` lists them.")
        if not sessions:
            raise UnknownSession(f"There is no session “{wanted}”.", "`deepthink sessions` lists them.")
        return sessions[0]

    def rename(self, session_id: str, name: str) -> None:
        """Give a session a name. Raises `NameTaken` if that is empty, ``last``, or another session's."""
        with self._store.transaction() as db:
            if not name.strip() or name == "last":
                raise NameTaken(f"“{name}” is no name for a session.", "Choose another.")
            self._free(name, but=session_id)
            db.execute("UPDATE sessions SET name = ? WHERE id = ?", [name, session_id])

    def delete(self, session_id: str) -> int:
        """Remove a session with its runs and all that is stored of them; returns the number of runs."""
        with self._store.transaction() as db:
            runs = delete_runs(db, "session = ?", [session_id])
            db.execute("DELETE FROM sessions WHERE id = ?", [session_id])
        return runs

    def delete_empty(self) -> None:
        """Remove the sessions that have no run."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM sessions WHERE id NOT IN (SELECT session FROM runs)")

    def exchanges(self, session_id: str, limit: int = 6) -> list[Exchange]:
        """The session's last answered questions, oldest first."""
        with self._store.connect() as db:
            rows = select(
                db,
                Exchange,
                """
                FROM (
                    SELECT if(standalone = '', question, standalone) AS question, answer, started, id
                    FROM runs
                    WHERE session = ? AND status IN ('answered', 'not_found')
                ) ORDER BY started DESC, id DESC LIMIT ?
                """,
                [session_id, limit],
            )
        return rows[::-1]

    def _free(self, name: str, but: str = "") -> None:
        with self._store.connect() as db:
            taken = db.execute("SELECT 1 FROM sessions WHERE name = ? AND id <> ?", [name, but]).fetchone()
        if taken:
            raise NameTaken(f"Another session is called “{name}”.", "Choose another name.")


_SESSION = """
    SELECT s.id, s.name, s.created, count(r.id) AS runs,
        coalesce(arg_min(r.question, r.started), '') AS first, coalesce(max(r.started), s.created) AS latest
    FROM sessions s LEFT JOIN runs r ON r.session = s.id
    GROUP BY s.id, s.name, s.created
"""
