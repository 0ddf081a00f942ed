"""Opening the one DuckDB file: short connections, a bounded wait for other processes, migrations.

DuckDB lets one process hold a file for writing and refuses every other opener meanwhile, readers
included. So nothing here keeps a connection: callers open, work and close, and an opener that finds
the file held waits, up to ``patience`` seconds. Threads of one process each open their own
connection; DuckDB lets those share the file.
"""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from traces.errors import DeepthinkError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HOLDER = re.compile(r"PID (\d+)")
_TELL_AFTER = 1.5  # seconds of waiting
_HELD = (
    "could not set lock",
    "conflicting lock",
    "being used by another process",
    "unique file handle conflict",  # another thread of ours is just letting go of the file
)
_FULL = ("no space left", "not enough space", "disk quota", "could not write", "file too large")
_FULL_NUMBERS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = ("permission denied", "read-only file system")
_DAMAGED = ("corrupt database file", "not a valid duckdb", "could not read enough bytes", "deserialize")


_writers: dict[Path, threading.RLock] = {}
# Threads open and close one at a time. A connection that is made while another thread makes the first one
# of a file may lack DuckDB's functions for Python, Arrow tables among them. And closing the last connection
# drops the lock that keeps other processes out, even if another thread has just opened the file again.
_connecting = threading.Lock()
_migrating = threading.Lock()  # other processes are kept out by DuckDB's own lock on the file


class StoreError(DeepthinkError):
    """Raised when the store cannot be opened, read or written."""

    title = "The library file cannot be used"
    kind = "store"


class StoreBusy(StoreError):
    """Raised when another process held the store for longer than we wait."""

    title = "The library is busy"


class StoreFull(StoreError):
    """Raised when the disk is full; what was being written is rolled back."""

    title = "The disk is full"


class StoreDamaged(StoreError):
    """Raised when the store's file does not hold what was written to it; it is left as it is."""

    title = "The library file is damaged"


class NotAStore(StoreError):
    """Raised when a file that was named as a store is none; nothing is written into it."""

    title = "That is no store of deepthink"


class NotText(DeepthinkError):
    """Raised when the store is given a text that UTF-8 cannot hold, as an argument of odd bytes is."""

    title = "That is no text"
    kind = "usage"


class StoreTooNew(StoreError):
    """Raised when a newer version of deepthink has written the store."""

    title = "The library was written by a newer version"


def now() -> datetime:
    """The present moment as DuckDB stores it: UTC, without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


class Store:
    """The DuckDB file at ``path``, created on first use.

    Args:
        patience: Seconds to wait for another process to let go of it.
        named: A person named this file: it has to be a store already, and none is made of it.
        on_wait: Called once, with a sentence, if another process holds the file for longer than a moment.
    """

    def __init__(
        self,
        path: Path,
        patience: float = 20.0,
        *,
        named: bool = False,
        on_wait: Callable[[str], object] = lambda _told: None,
    ) -> None:
        self.path = path
        self._on_wait = on_wait
        self._named = named
        self.patience = patience
        self._migrated = False
        self._here = threading.local()
        # Two transactions of one process that touch the same row would conflict; they take turns.
        self._writing = _writers.setdefault(path.absolute(), threading.RLock())

    @contextmanager
    def connect(self) -> Iterator[DuckDBPyConnection]:
        """A connection for a short piece of work, closed at the end.

        Opening costs more than most queries, so within one `connect` of the same thread another gives
        the same connection: wrap several queries that belong together.

        Raises:
            StoreBusy: another process kept the file longer than ``patience``.
            StoreFull: the disk is full.
            StoreDamaged: the file is damaged.
            NotAStore: the file was named by a person, and is something else.
            NotText: a query was given a text that UTF-8 cannot hold.
            StoreError: the file cannot be read or written.
        """
        import duckdb

        outer: DuckDBPyConnection | None = getattr(self._here, "connection", None)
        if outer is not None:
            yield outer
            return
        connection = self._here.connection = self._open()
        try:
            yield connection
        except duckdb.Error as error:
            raise _translated(error, self.path) from error
        except RuntimeError as error:
            # What DuckDB makes of Ctrl-C during a query.
            if str(error) == "Query interrupted":
                raise KeyboardInterrupt from error
            raise
        finally:
            self._here.connection = None
            _close(connection)

    @contextmanager
    def transaction(self) -> Iterator[DuckDBPyConnection]:
        """Like `connect`, with everything done inside it kept together or not at all."""
        with self._writing, self.connect() as connection:
            connection.begin()
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def _open(self) -> DuckDBPyConnection:
        import duckdb

        if not self._named and not self.path.exists():
            self._create()
        deadline = time.monotonic() + self.patience
        pause, announced = 0.01, False
        while True:
            try:
                with _connecting:
                    connection = duckdb.connect(str(self.path))
                break
            except duckdb.Error as error:
                if not any(sign in str(error).lower() for sign in _HELD):
                    if self._named and "not a valid duckdb" in str(error).lower():
                        raise _no_store(self.path) from error
                    raise _translated(error, self.path) from error
                holder = _HOLDER.search(str(error))
                who = f"Another process (number {holder[1]})" if holder else "Another process"
                if not announced and time.monotonic() >= deadline - self.patience + _TELL_AFTER:
                    announced = True
                    self._on_wait(f"{who} is using the library; waiting for it.")
                if time.monotonic() >= deadline:
                    raise StoreBusy(
                        f"{who} has held {self.path.name} for {self.patience:.0f} seconds.",
                        "Let the other deepthink command finish, or stop it, and try again.",
                    ) from error
            # Jitter keeps two waiting processes from meeting again and again.
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 1.6, 0.25)
        try:
            with _migrating:
                if not self._migrated:
                    if self._named:
                        _check(connection, self.path)
                    _migrate(connection, self.path)
                    self._migrated = True
        except duckdb.Error as error:
            _close(connection)
            raise _translated(error, self.path) from error
        except StoreError:
            _close(connection)
            raise
        return connection

    def _create(self) -> None:
        """Make the file beside its place and move it there, so that a kill leaves no half-made one."""
        import duckdb

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}."))
        except OSError as error:
            if is_full(error):
                raise _translated(error, self.path) from error
            raise _read_only(self.path, error.strerror or str(error)) from error
        fresh = beside / self.path.name
        try:
            with duckdb.connect(str(fresh)) as db:
                _migrate(db, fresh)
                db.execute("CHECKPOINT")
            os.link(fresh, self.path)
        except FileExistsError:
            return  # another process was faster
        except OSError as error:
            if is_full(error):
                raise _translated(error, self.path) from error
            if not self.path.exists():
                fresh.rename(self.path)  # a file system without links
        except duckdb.Error as error:
            raise _translated(error, self.path) from error
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _close(connection: DuckDBPyConnection) -> None:
    with _connecting:
        connection.close()


def copy_database(connection: DuckDBPyConnection, target: Path) -> None:
    """Write all that a store holds, and nothing that was deleted, to ``target``; there whole or not at all.

    The connection must be outside a transaction.
    """
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)  # of a killed process
    [(name,)] = connection.execute("SELECT current_database()").fetchall()
    try:
        connection.execute(f"ATTACH {_literal(part)} AS copied_to")
        try:
            connection.execute(f"COPY FROM DATABASE {_identifier(name)} TO copied_to")
            connection.execute("CHECKPOINT copied_to")
        finally:
            connection.execute("DETACH copied_to")
        part.replace(target)
    finally:
        for left in (part, part.with_name(f"{part.name}.wal")):
            left.unlink(missing_ok=True)


def set_aside(path: Path, why: str) -> Path:
    """Rename a file, and those that its database keeps beside it; ``why`` is part of the new name."""
    stamp = f"{now():%Y%m%dT%H%M%S%f}"
    kept = path.with_name(f"{path.name}.{why}-{stamp}")
    for end in (".wal", "-wal", "-shm", "-journal"):
        beside = path.with_name(path.name + end)
        if beside.exists():
            beside.rename(kept.with_name(kept.name + end))
    path.rename(kept)
    return kept


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_full(error: Exception) -> bool:
    """Whether a write failed because the disk is full."""
    text = str(error).lower()
    return any(sign in text for sign in _FULL) or getattr(error, "errno", None) in _FULL_NUMBERS


def _translated(error: Exception, path: Path) -> DeepthinkError:
    if is_full(error):
        return StoreFull(
            f"There is no room left to write {path}.",
            "Free some disk space and run the command again; nothing that was stored before is lost.",
        )
    import duckdb

    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, duckdb.InvalidInputException) and "cannot encode str as UTF-8" in first:
        return NotText(
            "Something that was given holds bytes that are not UTF-8.", "Type it anew, or leave them out."
        )
    if any(sign in first.lower() for sign in _DAMAGED):
        return StoreDamaged(
            f"{path} cannot be read: {first}",
            "`deepthink restore FILE` puts a backup in its place; `deepthink restore` sets it aside and "
            "rebuilds the library from what can still be read.",
        )
    if any(sign in first.lower() for sign in _READ_ONLY):
        return _read_only(path, first)
    return StoreError(f"{path} cannot be used: {first}", "`deepthink doctor` checks it.")


def _read_only(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} cannot be written: {why}.".replace("..", "."),
        "Make its folder writable, or set DEEPTHINK_HOME to a folder you may write to.",
    )


def _check(connection: DuckDBPyConnection, path: Path) -> None:
    """Raises `NotAStore` for other databases, and for the tables that DuckDB opens as one."""
    own = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'schema_version'"
    if not connection.execute(own).fetchall():  # whole: a pending result keeps the connection in use
        raise _no_store(path)


def _no_store(path: Path) -> NotAStore:
    return NotAStore(
        f"{path} is something else.",
        "Name one that `deepthink collect` made. An export is taken in by `deepthink traces import FILE`.",
    )


def _migrations() -> list[tuple[int, str]]:
    folder = files("traces") / "migrations"
    scripts = sorted(p.name for p in folder.iterdir() if p.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text("utf-8")) for name in scripts]


def before_migration(path: Path, version: int | str) -> Path:
    """Where the copy of a store lies that was made before it was migrated from a schema version."""
    return path.with_name(f"{path.name}.v{version}")


def _migrate(connection: DuckDBPyConnection, path: Path) -> None:
    """Bring the schema up to date, all or nothing; a store of an earlier version is copied first.

    The version lives in a table rather than in the file name so that a backup carries it along.
    """
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    [row] = connection.execute("SELECT max(version) FROM schema_version").fetchall()
    have = row[0] or 0
    scripts = _migrations()
    newest = scripts[-1][0]
    if have > newest:
        raise StoreTooNew(
            f"{path} has schema version {have}; this deepthink knows up to {newest}.",
            "Upgrade deepthink, or set DEEPTHINK_HOME to a new folder.",
        )
    if have == newest:
        return
    if have:
        copy_database(connection, before_migration(path, have))
    connection.begin()
    try:
        for version, script in scripts:
            if version > have:
                connection.execute(script)
                connection.execute("INSERT INTO schema_version VALUES (?)", [version])
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
