"""Open the DuckDB file: short connections, a bounded wait for other processes, migrations.

DuckDB lets one process hold a file for writing and refuses every other opener meanwhile, readers
included. So nothing here keeps a connection: callers open, work and close, and an opener that finds
the file locked waits, up to ``patience`` seconds. Threads of one process each open their own
connection; DuckDB lets those share the file.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import random
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from traces.errors import DeepthinkError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from duckdb import DuckDBPyConnection

_HOLDER = re.compile(r"PID (\d+)")
_ROWS_AT_ONCE = 100  # a statement of many rows is three times as fast as `executemany`
_ANNOUNCE_AFTER = 1.5  # seconds of waiting
_HELD = (
    "could not set lock",
    "conflicting lock",
    "being used by another process",
    "unique file handle conflict",  # another thread of this process is just closing the file
)
_FULL = ("no space left", "not enough space", "disk quota", "could not write", "file too large")
_FULL_NUMBERS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_IS_STORE = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'schema_version'"
_READ_ONLY = ("permission denied", "read-only file system")
_DAMAGED = ("corrupt database file", "not a valid duckdb", "could not read enough bytes", "deserialize")
_writers: dict[Path, threading.RLock] = {}
# Threads open and close one at a time. A connection opened while another thread opens the first one of a
# file may lack DuckDB's functions for Python, such as Arrow tables. And closing the last connection
# releases the lock that keeps other processes out, even if another thread has just opened the file again.
_connecting = threading.Lock()
_migrating = threading.Lock()  # other processes are kept out by DuckDB's own lock on the file

T = TypeVar("T", bound="DataclassInstance")


class StoreError(DeepthinkError, title="The library file cannot be used", kind="store"):
    """Raised when the store cannot be opened, read or written."""


class StoreBusy(StoreError, title="The library is busy"):
    """Raised when another process has held the store for too long."""


class StoreFull(StoreError, title="The disk is full"):
    """Raised when the disk is full; the write is rolled back."""


class StoreDamaged(StoreError, title="The library file is damaged"):
    """Raised when the store's file is damaged; it is not changed."""


class NotAStore(StoreError, title="Not a deepthink store"):
    """Raised when a file named as a store is not one; nothing is written to it."""


class NotText(DeepthinkError, title="Not valid text", kind="usage"):
    """Raised when a text cannot be encoded as UTF-8, such as an argument with invalid bytes."""


class StoreTooNew(StoreError, title="The library was written by a newer version"):
    """Raised when the store was written by a newer version of deepthink."""


def now() -> datetime:
    """The current time as DuckDB stores it: UTC, without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


class Store:
    """The DuckDB file at ``path``, created on first use; one ``named`` by the user must exist.

    ``patience`` is how many seconds to wait for another process to release it; ``on_wait`` is called once,
    with a sentence, if that takes longer than a moment, however many threads wait.
    """

    def __init__(
        self,
        path: Path,
        patience: float = 20.0,
        *,
        named: bool = False,
        on_wait: Callable[[str], object] = lambda _message: None,
    ) -> None:
        self.path = path
        self._on_wait = on_wait
        self._named = named
        self.patience = patience
        self._migrated = False
        self._announcing = threading.Lock()  # held by the first thread that waits for longer than a moment
        self._local = threading.local()
        # Two transactions of one process that touch the same row would conflict; they take turns.
        self._writing = _writers.setdefault(path.absolute(), threading.RLock())

    @contextmanager
    def connect(self) -> Iterator[DuckDBPyConnection]:
        """A connection for a short piece of work, closed at the end.

        Opening costs more than most queries, so a nested `connect` in the same thread returns the same
        connection: wrap several queries that belong together.

        Raises:
            StoreBusy: another process kept the file longer than ``patience``.
            StoreFull: the disk is full.
            StoreDamaged: the file is damaged.
            NotAStore: the file was named by the user, and is something else.
            NotText: a query was given a text that cannot be encoded as UTF-8.
            StoreError: the file cannot be read or written.
        """
        import duckdb

        outer: DuckDBPyConnection | None = getattr(self._local, "connection", None)
        if outer is not None:
            yield outer
            return
        if not self._named and not self.path.exists():
            self._create()
        connection = self._local.connection = self._connection()
        try:
            self._prepare(connection)
            yield connection
        except duckdb.Error as error:
            raise _store_error(error, self.path) from error
        except RuntimeError as error:
            # DuckDB's error for Ctrl-C during a query.
            if str(error) == "Query interrupted":
                raise KeyboardInterrupt from error
            raise
        finally:
            self._local.connection = None
            _close(connection)

    @contextmanager
    def transaction(self) -> Iterator[DuckDBPyConnection]:
        """Like `connect`, but everything inside is committed together or not at all."""
        with self._writing, self.connect() as connection, _committed(connection):
            yield connection

    def written(self) -> list[int]:
        """When the file and its log were last written, by whichever process. Neither is opened."""
        moments = []
        for path in (self.path, self.path.with_name(f"{self.path.name}.wal")):
            with suppress(OSError):  # there is none, or it cannot be read
                moments.append(path.stat().st_mtime_ns)
        return moments

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; raises what `connect` raises."""
        with self.connect() as db:
            return db.execute(query, list(values)).fetchall()

    def records(self, kind: type[T], source: str, values: Sequence[Any] = ()) -> list[T]:
        """Records of ``source``, a query from FROM on, which has a column for each field of ``kind``."""
        types = {field.name: str(field.type).partition("[")[0] for field in dataclasses.fields(kind)}
        return [
            kind(**{name: _decode(cell, types[name]) for name, cell in zip(types, row, strict=True)})
            for row in self.rows(f"SELECT {', '.join(types)} {source}", values)
        ]

    def _prepare(self, connection: DuckDBPyConnection) -> None:
        connection.execute("SET enable_progress_bar = false")  # DuckDB would draw it over the app
        with _migrating:
            if not self._migrated:
                if self._named and not connection.execute(_IS_STORE).fetchall():
                    raise _no_store(self.path)  # another database, or a file that DuckDB can open as one
                _migrate(connection, self.path)
                self._migrated = True

    def _connection(self) -> DuckDBPyConnection:
        """A connection, as soon as no other process has the file open."""
        import duckdb

        deadline = time.monotonic() + self.patience
        pause, announce_at, is_first = 0.01, time.monotonic() + _ANNOUNCE_AFTER, False
        try:
            while True:
                try:
                    with _connecting:
                        return duckdb.connect(str(self.path))
                except duckdb.Error as error:
                    if not any(sign in str(error).lower() for sign in _HELD):
                        if self._named and "not a valid duckdb" in str(error).lower():
                            raise _no_store(self.path) from error
                        raise _store_error(error, self.path) from error
                    holder = _HOLDER.search(str(error))
                    holder_name = f"Another process (number {holder[1]})" if holder else "Another process"
                    if time.monotonic() >= announce_at:
                        announce_at = math.inf
                        is_first = self._announcing.acquire(blocking=False)
                        if is_first:
                            self._on_wait(f"{holder_name} is using the library; waiting for it.")
                    if time.monotonic() >= deadline:
                        raise StoreBusy(
                            f"{holder_name} has held {self.path.name} for {self.patience:.0f} seconds.",
                            "Let the other deepthink command finish, or stop it, and try again.",
                        ) from error
                # Jitter keeps two waiting processes from meeting again and again.
                time.sleep(pause * (0.5 + random.random()))
                pause = min(pause * 1.6, 0.25)
        finally:
            if is_first:
                self._announcing.release()

    def _create(self) -> None:
        """Create the file elsewhere and move it into place, so that a kill leaves no incomplete one."""
        import duckdb

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(
                dir=self.path.parent, prefix=f".{self.path.name}.", ignore_cleanup_errors=True
            ) as folder:
                new_file = Path(folder) / self.path.name
                with duckdb.connect(str(new_file)) as db:
                    _migrate(db, new_file)
                    db.execute("CHECKPOINT")
                try:
                    os.link(new_file, self.path)
                except FileExistsError:
                    pass  # another process created it first
                except OSError:
                    if not self.path.exists():
                        new_file.rename(self.path)  # on a file system without links
        except (OSError, duckdb.Error) as error:
            raise _store_error(error, self.path) from error


class Queries:
    """Queries on one subject. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store


def _close(connection: DuckDBPyConnection) -> None:
    with _connecting:
        connection.close()


@contextmanager
def _committed(connection: DuckDBPyConnection) -> Iterator[None]:
    """A context that is committed as a whole or, if it raises, not at all."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def copy_database(connection: DuckDBPyConnection, target: Path) -> None:
    """Write the contents of a store, without deleted data, to ``target``, completely or not at all.

    The connection must be outside a transaction.
    """
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)  # from a killed process
    [(name,)] = connection.execute("SELECT current_database()").fetchall()
    name = '"' + name.replace('"', '""') + '"'
    try:
        connection.execute(f"ATTACH {literal(part)} AS copied_to")
        try:
            connection.execute(f"COPY FROM DATABASE {name} TO copied_to")
            connection.execute("CHECKPOINT copied_to")
        finally:
            connection.execute("DETACH copied_to")
        part.replace(target)
    finally:
        for leftover in (part, part.with_name(f"{part.name}.wal")):
            leftover.unlink(missing_ok=True)


def set_aside(path: Path) -> Path:
    """Rename a damaged file, and the files its database keeps beside it."""
    stamp = f"{now():%Y%m%dT%H%M%S%f}"
    renamed = path.with_name(f"{path.name}.damaged-{stamp}")
    for suffix in (".wal", "-wal", "-shm", "-journal"):
        companion = path.with_name(path.name + suffix)
        if companion.exists():
            companion.rename(renamed.with_name(renamed.name + suffix))
    path.rename(renamed)
    return renamed


def literal(path: Path | str) -> str:
    """A path as an SQL literal."""
    return "'" + str(path).replace("'", "''") + "'"


def is_full(error: Exception) -> bool:
    """Whether a write failed because the disk is full."""
    text = str(error).lower()
    return any(sign in text for sign in _FULL) or getattr(error, "errno", None) in _FULL_NUMBERS


def _store_error(error: Exception, path: Path) -> DeepthinkError:
    if is_full(error):
        return StoreFull(
            f"There is no room left to write {path}.",
            "Free some disk space and run the command again; nothing that was stored before is lost.",
        )
    import duckdb

    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, duckdb.InvalidInputException) and "cannot encode str as UTF-8" in line:
        return NotText("The input contains bytes that are not UTF-8.", "Enter it again, or leave them out.")
    if any(sign in line.lower() for sign in _DAMAGED):
        return StoreDamaged(
            f"{path} cannot be read: {line}",
            "`deepthink restore FILE` puts a backup in its place; `deepthink restore` sets it aside and "
            "rebuilds the library from what can still be read.",
        )
    if isinstance(error, OSError) or any(sign in line.lower() for sign in _READ_ONLY):
        reason = getattr(error, "strerror", None) or line
        return StoreError(
            f"{path} cannot be written: {reason}.".replace("..", "."),
            "Make its folder writable, or set DEEPTHINK_HOME to a folder you may write to.",
        )
    return StoreError(f"{path} cannot be used: {line}", "`deepthink doctor` checks it.")


def _no_store(path: Path) -> NotAStore:
    return NotAStore(
        f"{path} is something else.",
        "Name one that `deepthink collect` made. Import an export with `deepthink traces import FILE`.",
    )


def _migrations() -> list[tuple[int, str]]:
    folder = files("traces") / "migrations"
    scripts = sorted(p.name for p in folder.iterdir() if p.name.endswith(".sql"))
    return [(int(name[:4]), (folder / name).read_text("utf-8")) for name in scripts]


def _migrate(connection: DuckDBPyConnection, path: Path) -> None:
    """Bring the schema up to date, all or nothing; a store of an earlier version is copied first.

    The version is in a table rather than in the file name so that backups include it.
    """
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    [row] = connection.execute("SELECT max(version) FROM schema_version").fetchall()
    current = row[0] or 0
    scripts = _migrations()
    newest = scripts[-1][0]
    if current > newest:
        raise StoreTooNew(
            f"{path} has schema version {current}; this version of deepthink supports up to {newest}.",
            "Upgrade deepthink, or set DEEPTHINK_HOME to a new folder.",
        )
    if current == newest:
        return
    if current:
        copy_database(connection, path.with_name(f"{path.name}.v{current}"))
    with _committed(connection):
        for version, script in scripts:
            if version > current:
                connection.execute(script)
                connection.execute("INSERT INTO schema_version VALUES (?)", [version])


def insert(
    db: DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]], *, replace: bool = False
) -> None:
    """Insert rows that all have the same columns; ``replace``: replacing those with the same key."""
    if not rows:
        return
    names, marks = ", ".join(rows[0]), f"({', '.join('?' * len(rows[0]))})"
    encoded = [[_encode(value) for value in row.values()] for row in rows]
    if replace:  # row by row: of two with one key the last is meant, and a single statement keeps the first
        db.executemany(f"INSERT OR REPLACE INTO {table} ({names}) VALUES {marks}", encoded)
        return
    for start in range(0, len(encoded), _ROWS_AT_ONCE):
        batch = encoded[start : start + _ROWS_AT_ONCE]
        db.execute(
            f"INSERT INTO {table} ({names}) VALUES {', '.join([marks] * len(batch))}",
            [value for row in batch for value in row],
        )


def columns(record: DataclassInstance) -> dict[str, Any]:
    """The fields of a record by name; nested values stay as they are."""
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def _decode(cell: Any, type_name: str) -> Any:
    if type_name in {"tuple", "Sequence"}:
        return tuple(json.loads(cell))
    return json.loads(cell) if type_name in {"dict", "Mapping"} else cell


def _encode(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    return json.dumps(value) if isinstance(value, list | tuple) else value
