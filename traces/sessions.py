"""Sessions: the runs of one conversation, in which a follow-up may refer to earlier questions."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from traces.errors import DeepthinkError
from traces.runs import delete_runs
from traces.store import Queries, now

ID_DIGITS = 4
"""Minimum length of an id prefix; a shorter one is more likely meant as a name."""


class UnknownSession(DeepthinkError):
    """Raised when a requested session is not in the store, or an id prefix matches several."""

    title = "Unknown session"
    kind = "usage"


class SeveralSessions(UnknownSession):
    """Raised when an id prefix matches several sessions."""


class NameTaken(DeepthinkError):
    """Raised when a session is given an invalid name: empty, or another session's."""

    title = "That name cannot be used"
    kind = "usage"


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

        Raises:
            NameTaken: another session has that name.
        """
        session_id = uuid.uuid4().hex[:8]
        with self._store.transaction() as db:
            if name:
                self._require_free_name(name)
            db.execute("INSERT INTO sessions VALUES (?, ?, ?)", [session_id, name, now()])
        return session_id

    def recent(self, limit: int = 20) -> list[Session]:
        """The most recently used sessions, newest first."""
        return self._store.records(Session, f"FROM ({_SESSION}) ORDER BY latest DESC, id LIMIT ?", [limit])

    def find(self, name: str) -> Session:
        """The session with that name or id prefix; ``last`` is the most recently used one.

        Raises:
            UnknownSession: none matches. An id prefix has at least `ID_DIGITS` digits.
            SeveralSessions: the prefix matches several ids.
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

    def delete_empty(self) -> None:
        """Remove the sessions that have no run."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM sessions WHERE id NOT IN (SELECT session FROM runs)")

    def exchanges(self, session_id: str) -> list[tuple[str, str]]:
        """The last six answered questions, worded to stand alone, and their answers, oldest first."""
        rows = self._store.rows(
            """
            SELECT if(standalone = '', question, standalone), answer FROM runs
            WHERE session = ? AND status IN ('answered', 'not_found')
            ORDER BY started DESC, id DESC LIMIT 6
            """,
            [session_id],
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
