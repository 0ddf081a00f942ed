"""Back up and restore the data folder, rebuild a damaged store, and delete data permanently.

A backup is a ZIP file: the store, the checkpoints of unfinished runs, policies and the settings; no model
files, which can be fetched again. What is replaced is set aside, never overwritten.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from traces.errors import DeepthinkError
from traces.library import Library, ensure_embedder
from traces.paths import config_file, models_dir
from traces.records import Document
from traces.runs import COLLECTED
from traces.store import Store, StoreDamaged, copy_database, literal, now, set_aside

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_DATA, _SETTINGS = "data", "config.toml"
_UNFINISHED_TRAININGS = "training"  # they change while being copied, and can be repeated
_OPENING = 0.2  # seconds in which another process that opened the old file finds it locked


class NotABackup(DeepthinkError, title="Not a deepthink backup", kind="input"):
    """Raised when a file to be restored is not a backup; nothing is changed."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The result of rebuilding a damaged store."""

    set_aside: Path  # where the damaged file is now
    lost: tuple[str, ...]  # names of the tables that could not be read
    documents: tuple[Document, ...]  # documents whose text is lost; they are no longer in the library


def back_up(store: Store, target: Path) -> None:
    """Write a backup of the store's folder and the settings to ``target``, completely or not at all.

    Raises `StoreError` if the store cannot be read and `OSError` if the file cannot be written.
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    try:
        temporary_folder = tempfile.TemporaryDirectory(dir=target.parent, prefix=".deepthink-")
    except OSError as error:  # it should name the file that was asked for
        raise OSError(error.errno, error.strerror, str(target)) from error
    with temporary_folder as folder:
        copies = Path(folder) / _DATA
        with store.connect() as db:  # no run of another process can be stored meanwhile, so none ends
            for path in _files_to_back_up(store.path.parent):
                copy = copies / path.relative_to(store.path.parent)
                copy.parent.mkdir(parents=True, exist_ok=True)
                if path == store.path:
                    copy_database(db, copy)
                elif path.suffix == ".sqlite":
                    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(copy)) as new:
                        old.backup(new)
                else:
                    shutil.copyfile(path, copy)
        part = Path(folder) / "backup.zip"
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path in sorted(path for path in copies.rglob("*") if path.is_file()):
                archive.write(path, path.relative_to(folder))
            if config_file().is_file():
                archive.write(config_file(), _SETTINGS)
        part.replace(target)


def _files_to_back_up(data: Path) -> Iterator[Path]:
    for path in sorted(data.rglob("*")):
        relative = path.relative_to(data)
        if (
            path.is_file()
            and not path.is_relative_to(models_dir())
            and relative.parts[0] != _UNFINISHED_TRAININGS
            and not any(part.startswith(".") for part in relative.parts)
            and not path.name.endswith((".lock", ".wal", "-wal", "-shm", "-journal"))
            and not _is_older_copy(relative.parts[0])
        ):
            yield path


def _is_older_copy(name: str) -> bool:
    return name.startswith(("deepthink.duckdb.", "before-restore-"))


def older_copies(store: Store) -> list[Path]:
    """Copies beside a store: made before a migration or a restore, or set aside as damaged."""
    return sorted(path for path in store.path.parent.iterdir() if _is_older_copy(path.name))


def restore(store: Store, source: Path) -> Path | None:
    """Replace the present data with a backup; no run may be in progress.

    Returns the folder with the previous data; None if there was none. Raises `NotABackup` if the file is
    not a backup, or it is damaged, `StoreError` if its store cannot be used by this version, or the present
    one is in use, and `OSError` if the files cannot be written.
    """
    data = store.path.parent
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data, prefix=".restoring-") as folder:
        restored = Path(folder) / _DATA
        _unpack(source, Path(folder))
        if not (restored / store.path.name).is_file():
            raise _no_backup(source, "it holds no library")
        with Store(restored / store.path.name, named=True).connect():
            pass  # checks that it can be used
        previous = data / f"before-restore-{now():%Y%m%dT%H%M%S%f}"
        with _locked(store):
            # The store comes last: until then the present one stays in place.
            for path in sorted(restored.iterdir(), key=lambda path: path.name == store.path.name):
                _swap(path, data / path.name, previous)
            settings = Path(folder) / _SETTINGS
            if settings.is_file():
                config_file().parent.mkdir(parents=True, exist_ok=True)
                _swap(settings, config_file(), previous)
            time.sleep(_OPENING)
    return previous if previous.exists() else None


def check(source: Path) -> None:
    """Raise `NotABackup` or `OSError` if a file cannot be a backup."""
    _unpack(source, None)


def _unpack(source: Path, folder: Path | None) -> None:
    """Unpack a backup; only look into it if ``folder`` is None."""
    try:
        with zipfile.ZipFile(source) as archive:
            if any(not name.startswith((f"{_DATA}/", _SETTINGS)) for name in archive.namelist()):
                raise _no_backup(source, "it holds other files")
            if folder is not None:
                archive.extractall(folder)
    except zipfile.BadZipFile as error:
        raise _no_backup(source, str(error)) from error


def _no_backup(source: Path, reason: str) -> NotABackup:
    return NotABackup(
        f"{source} cannot be restored: {reason}.", "Name a file that `deepthink backup` wrote."
    )


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    """Keep other processes from opening the store, if it exists and can be opened."""
    with ExitStack() as stack:
        if store.path.exists():
            with suppress(StoreDamaged, duckdb.Error):  # no other process can open a damaged one either
                # So that nothing is written when it is closed.
                stack.enter_context(store.connect()).execute("CHECKPOINT")
        yield


def _swap(replacement: Path, target: Path, previous: Path) -> None:
    present_files = [target.with_name(target.name + suffix) for suffix in ("", ".wal")]
    for path in (path for path in present_files if path.exists()):
        previous.mkdir(exist_ok=True)
        path.rename(previous / path.name)
    shutil.move(replacement, target)


def rebuild(store: Store) -> Rebuilt:
    """Set a damaged store aside, and replace it with a new one with everything that can be read.

    Passages whose vectors cannot be read are kept, to be embedded again; documents whose passages cannot be
    read are left out, to be ingested again. Raises `StoreError` or `OSError` if the new store cannot be
    written; the damaged one stays in place.
    """
    with tempfile.TemporaryDirectory(dir=store.path.parent, prefix=".rebuilding-") as folder:
        rebuilt = Store(Path(folder) / store.path.name)
        with rebuilt.connect() as db:
            readable = _attach(db, store.path)
            lost = _copy_tables(db) if readable else _tables(db, rebuilt.path.stem)
            if readable:
                db.execute("DETACH damaged")
        with rebuilt.transaction() as db:
            if "vectors" not in _tables(db, rebuilt.path.stem):
                db.execute("DELETE FROM library")  # the first ingestion writes it
            else:
                db.execute("DELETE FROM vectors WHERE chunk_id NOT IN (SELECT id FROM chunks)")
            db.execute("DELETE FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)")
            documents = Library(rebuilt).documents() if "chunks" in lost else []
            if documents:
                db.execute("DELETE FROM documents")
        with rebuilt.connect() as db:
            db.execute("CHECKPOINT")
        damaged_file = set_aside(store.path)
        rebuilt.path.rename(store.path)
    return Rebuilt(damaged_file, tuple(lost), tuple(documents))


def _attach(db: DuckDBPyConnection, path: Path) -> bool:
    """Attach a damaged file as ``damaged``, for reading; returns whether that worked."""
    try:
        db.execute(f"ATTACH {literal(path)} AS damaged (READ_ONLY)")
        db.execute("SELECT count(*) FROM damaged.schema_version").fetchall()
    except duckdb.Error:
        return False
    return True


def _tables(db: DuckDBPyConnection, database: str) -> list[str]:
    query = "SELECT table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL"
    names = [name for (name,) in db.execute(query, [database]).fetchall()]
    return [name for name in names if name != "schema_version"]


def _copy_tables(db: DuckDBPyConnection) -> list[str]:
    """Copy each readable table from ``damaged``; returns the names of the others."""
    for sequence, last in db.execute(
        "SELECT sequence_name, last_value FROM duckdb_sequences() "
        "WHERE database_name = 'damaged' AND last_value IS NOT NULL"
    ).fetchall():
        db.execute(f"SELECT count(nextval('{sequence}')) FROM range(?)", [last])
    lost = []
    for table in _tables(db, "damaged"):
        try:
            if table == "vectors":
                embedder = db.execute("SELECT embedder, dimensions FROM library").fetchall()
                if not embedder:
                    lost.append(table)
                    continue
                db.execute("DELETE FROM library")
                ensure_embedder(db, *embedder[0])
            db.execute(f"INSERT INTO {table} BY NAME FROM damaged.{table}")
        except duckdb.Error:
            lost.append(table)
    return lost


@dataclass(frozen=True, slots=True)
class Seen:
    """The ids of the runs that a document is in."""

    used: list[str]  # that may repeat it, and later runs of their sessions
    found: list[str]  # that have it among the hits of their searches and nowhere else


def runs_that_saw(store: Store, document: Document, resumable: Collection[str]) -> Seen:
    """The runs that used or found passages of a document; ``resumable`` ones keep more than events."""
    by_id, *by_name, title = _marks(document)
    named = json.dumps(document.title)[1:-1] or by_id  # in the list of what a collection holds
    with store.connect() as db:
        rows = db.execute(
            """
            SELECT DISTINCT run_id FROM events WHERE contains(payload, ?)
                OR (contains(payload, ?) AND contains(payload, ?))
            UNION
            SELECT run_id FROM decisions JOIN runs ON runs.id = run_id
            WHERE status = ? AND contains(state, ?)
            UNION
            SELECT run_id FROM events WHERE list_contains(?, run_id) AND contains(payload, ?)
            """,
            [by_id, *by_name, COLLECTED, title, list(resumable), named],
        ).fetchall()
        seen = [run_id for (run_id,) in rows]
        repeating = [run for run in seen if run in resumable or _may_repeat(db, run, document)]
        rows = db.execute(
            """
            SELECT id FROM runs WHERE list_contains($runs, id) OR (session <> '' AND started >= (
                SELECT min(started) FROM runs r
                WHERE r.session = runs.session AND list_contains($runs, r.id)
            )) ORDER BY started, id
            """,
            {"runs": repeating},
        ).fetchall()
    used = [run_id for (run_id,) in rows]
    return Seen(used, [run for run in seen if run not in used])


def _marks(document: Document) -> list[str]:
    """What stands in stored JSON about a document: its id; its collection, its name; its title."""
    identity = {"collection": document.collection, "document": document.name, "title": document.title}
    fields = [f'"{key}": {json.dumps(value)}' for key, value in identity.items()]
    return [f'"document_id": {document.id},', *fields]


def _may_repeat(db: DuckDBPyConnection, run_id: str, document: Document) -> bool:
    """Whether anything but the hits of a run's searches may have words of the document.

    That is what was kept, and what was taken from the hits before: a first look, words for other searches.
    """
    by_id, collection, name, _ = _marks(document)
    rows = db.execute("SELECT kind, payload FROM events WHERE run_id = ?", [run_id]).fetchall()
    events = [(kind, payload, json.loads(payload)) for kind, payload in rows]
    hits = [hit for kind, _, event in events if kind == "Searched" for hit in event["hits"]]
    own = {hit["passage_id"]: hit["text"] for hit in hits if _is_of(hit, document)}
    for kind, payload, event in events:
        if kind != "Searched" and (by_id in payload or (collection in payload and name in payload)):
            return True
        if kind == "FirstLook" and (event["passage_id"] in own or event["title"] == document.title):
            return True
        if kind == "Corrected" and event["rung"] == "reword":
            return True
    states = db.execute("SELECT state FROM decisions WHERE run_id = ?", [run_id]).fetchall()
    looks = {json.loads(state).get("look", {}).get("answer", "") for (state,) in states} - {""}
    return not own or any(look in text for look in looks for text in own.values())


def _is_of(hit: Mapping[str, Any], document: Document) -> bool:
    place = hit["collection"], hit["document"]
    return hit.get("document_id") == document.id or place == (document.collection, document.name)


def drop_found(store: Store, document: Document, runs: Collection[str]) -> None:
    """Delete a document from what stays of runs: from the hits of ``runs``, and its title from all lists.

    A run begins with a list of what the collections hold.
    """

    def without_hits(event: dict[str, Any]) -> dict[str, Any]:
        return {**event, "hits": [hit for hit in event["hits"] if not _is_of(hit, document)]}

    def without_title(event: dict[str, Any]) -> dict[str, Any]:
        question, mark, lists = event["entry"].partition("\n\nCOLLECTIONS:\n")
        return {"entry": question + mark + lists.replace(document.title, "…")}

    with store.transaction() as db:
        _rewrite_events(db, without_hits, "kind = 'Searched' AND list_contains(?, run_id)", list(runs))
        if document.title:
            title = json.dumps(document.title)[1:-1]
            _rewrite_events(db, without_title, "kind = 'NotebookGrew' AND contains(payload, ?)", title)


def _rewrite_events(
    db: DuckDBPyConnection, change: Callable[[dict[str, Any]], dict[str, Any]], where: str, value: object
) -> None:
    rows = db.execute(f"SELECT run_id, seq, payload FROM events WHERE {where}", [value]).fetchall()
    for run_id, seq, payload in rows:
        db.execute(
            "UPDATE events SET payload = ? WHERE run_id = ? AND seq = ?",
            [json.dumps(change(json.loads(payload))), run_id, seq],
        )


def drop_changes(store: Store, source: str) -> None:
    """Delete the recorded changes of a file in a followed folder, and of files inside it."""
    with store.transaction() as db:
        for table in ("changes", "unreadable"):
            db.execute(
                f"DELETE FROM {table} WHERE source = ? OR starts_with(source, ?)", [source, f"{source}/"]
            )


def rewrite(store: Store) -> None:
    """Rewrite the file, since deleted data leaves its bytes in the old one. Raises `StoreError`."""
    rewritten = store.path.with_name(f".{store.path.name}.rewritten")
    with store.connect() as db:
        db.execute("CHECKPOINT")  # so that nothing is written when it is closed
        copy_database(db, rewritten)
        rewritten.replace(store.path)
        time.sleep(_OPENING)
