"""Following folders: syncing the library with them, and watching which ones change.

A file is unchanged if its size and date are, and was moved if its content is known. A file that is being
written waits for the next sync. Nothing is removed when a folder is missing or suddenly empty, as with a
drive that is not mounted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing as closed
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Final

import filelock

from agent.documents.indexing import stop_if
from agent.documents.ingest import FileDone, FileFailed, FilesUnread, FolderAway, IngestEvent, Reading
from agent.documents.sources import File, Root, gone_documents, is_folder, is_left_out, is_settled, located
from models.protocols import Embedder, TextRecogniser
from traces.errors import DeepthinkError
from traces.folders import AWAY, BACK, Change, Folder, Folders
from traces.library import Library
from traces.records import Document, UnknownCollection
from traces.store import Store, now

_PATIENCE: Final = 5.0  # seconds to wait for files that are being written
_POLL: Final = 0.25
_UNSETTLED: Final = "still being written, read in the next sync"

_log = logging.getLogger("deepthink.folders")
_DEBOUNCE: Final = 400  # milliseconds within which changes are reported together
_STEP: Final = 100
_TURN: Final = 1_000  # milliseconds
_TURNS: Final = 10  # between checks for folders that are new, gone or mounted
_LOOK_AGAIN: Final = 600.0  # seconds; network drives report no changes


class SyncUnderWay(DeepthinkError, title="Sync already running", kind="store"):
    """Raised when another process or thread is syncing."""


def sync(
    collections: Sequence[str] = (),
    *,
    store: Store,
    embedder: Embedder,
    recogniser: TextRecogniser | None = None,
    cancel: threading.Event | None = None,
) -> Iterator[IngestEvent]:
    """Sync collections with the folders they follow, and record what changed.

    Without ``collections``, every collection that follows a folder is synced. The other arguments are those
    of `agent.documents.ingest.ingest`.

    Yields:
        The events of each collection's ingestion, ``IngestFinished`` last; `FolderAway`, `FilesUnread`.

    Raises:
        SyncUnderWay: Another sync is running.
        GenerationCancelled, ModelError, StoreError: As `agent.documents.ingest.ingest`.
    """
    try:
        lock = filelock.FileLock(store.path.absolute().with_suffix(".sync.lock")).acquire(timeout=0)
    except filelock.Timeout as error:
        raise SyncUnderWay(
            "Another deepthink is already syncing the followed folders.", "Wait until it has finished."
        ) from error
    with lock:
        at = now()
        for collection, folders in groupby(Folders(store).followed(), key=lambda folder: folder.collection):
            if collections and collection not in collections:
                continue
            reading = Reading(store, collection, embedder, recogniser, cancel, must_follow=True)
            with suppress(UnknownCollection):  # the user removed it in the meantime
                yield from _record(store, collection, at, _sync(reading, collection, list(folders), cancel))


def _sync(
    reading: Reading, collection: str, folders: Sequence[Folder], cancel: threading.Event | None
) -> Iterator[IngestEvent]:
    available: list[Root] = []
    found_files: list[File] = []
    for root in (Root(Path(folder.path), folder.exclude) for folder in folders):
        stop_if(cancel)
        folder_files = list(reading.find_files(root)) if is_folder(root.path) else []
        stored_count = sum(Path(source).is_relative_to(root.real) for source in reading.documents)
        if folder_files or not stored_count:
            available.append(root)
            found_files += folder_files
        else:
            yield FolderAway(collection, str(root.path), is_folder(root.path), stored_count)
    files = located(found_files, reading.documents)
    existing = {file.source for file in files}
    settled, unsettled = _split_settled(reading.changed(files), cancel)
    yield from reading.read_all(settled, existing, gone_documents(available, existing, reading.documents))
    if unsettled:
        yield FilesUnread({_UNSETTLED: [file.name for file in unsettled]})


def _split_settled(files: Sequence[File], cancel: threading.Event | None) -> tuple[list[File], list[File]]:
    """The files that are complete, after a short wait, and those that are still being written."""
    pause = cancel or threading.Event()
    for _ in range(round(_PATIENCE / _POLL)):
        if all(is_settled(file.path) for file in files) or pause.wait(_POLL):
            break
    settled = [file for file in files if is_settled(file.path)]
    return settled, [file for file in files if file not in settled]


def _record(
    store: Store, collection: str, at: datetime, events: Iterator[IngestEvent]
) -> Iterator[IngestEvent]:
    """Pass the events on, and record the changes in them, even if the sync fails."""
    folders = Folders(store)
    changes: list[Change] = []
    try:
        for event in events:
            changes += _changes(event, collection, at)
            yield event
    finally:
        changes = _new_changes(changes, collection, at, folders)
        if changes:
            folders.record(changes)


def _changes(event: IngestEvent, collection: str, at: datetime) -> Iterator[Change]:
    match event:
        case FileDone() if event.outcome != "unchanged":
            yield Change(collection, event.outcome, event.source, event.name, event.was, at)
        case FileFailed():
            yield Change(collection, "failed", event.source, event.name, event.error.message, at)
        case FolderAway():
            detail = "it is empty" if event.is_there else "it is missing"
            yield Change(collection, AWAY, event.path, event.path, detail, at)
        case _:
            pass


def _new_changes(
    changes: Sequence[Change], collection: str, at: datetime, folders: Folders
) -> list[Change]:
    """The changes, without folders that were already away, and with folders that are back."""
    away = {change.source: change for change in changes if change.outcome == AWAY}
    already_away = {*folders.away(collection)}
    back = [Change(collection, BACK, path, path, "", at) for path in sorted(already_away - {*away})]
    return [
        *(change for change in changes if change.outcome != AWAY or change.source not in already_away),
        *back,
    ]


def forget(store: Store, document: Document) -> bool:
    """Remove a document, and exclude its file from followed folders; returns whether it was in one.

    Raises `UnknownDocument` if it was already removed.
    """
    Library(store).remove_document(document.id)
    if not Path(document.source).is_file():
        return False
    return Folders(store).exclude(document.collection, document.source)


def due(store: Store, closing: threading.Event) -> Iterator[list[str]]:
    """Names of the collections to sync: all at first, then those whose folders change.

    Every ten minutes all are due again, because some drives report no changes. Setting ``closing`` ends the
    watch within a second.
    """
    watched: list[Folder] = []
    last_look = time.monotonic()
    while not closing.is_set():
        folders = _available(store)
        collections = {folder.collection for folder in folders if folder not in watched}
        watched = folders
        with closed(_changed_paths([folder.path for folder in folders], store, closing)) as changes:
            # The first sync starts only when the watch is running, so that no change is missed.
            for turn, paths in enumerate(changes, start=1):
                collections |= {folder.collection for folder in folders if folder.holds(paths)}
                if time.monotonic() - last_look > _LOOK_AGAIN:
                    last_look = time.monotonic()
                    collections |= {folder.collection for folder in Folders(store).followed()}
                if collections:
                    yield sorted(collections)
                    collections = set()
                if turn % _TURNS == 0 and _available(store) != folders:
                    break  # a folder was added or removed, or its drive was mounted


def _available(store: Store) -> list[Folder]:
    return [folder for folder in Folders(store).followed() if is_folder(Path(folder.path))]


def _changed_paths(roots: Sequence[str], store: Store, closing: threading.Event) -> Generator[set[str]]:
    """Paths that changed in the folders; an empty set for each second without a change."""
    from watchfiles import watch

    store_prefix = f"{store.path.absolute().with_suffix('')}."

    def matters(path: str) -> bool:
        root = max((folder for folder in roots if path.startswith(folder)), key=len, default="")
        return not path.startswith(store_prefix) and not any(
            map(is_left_out, Path(path[len(root) :]).parts)
        )

    try:
        if roots:
            for changes in watch(
                *dict.fromkeys(roots),
                watch_filter=None,
                debounce=_DEBOUNCE,
                step=_STEP,
                stop_event=closing,
                rust_timeout=_TURN,
                yield_on_timeout=True,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                yield {path for _, path in changes if matters(path)}
    except (OSError, RuntimeError) as error:
        _log.info("folders cannot be watched, checking every ten minutes: %s", error)
    while not closing.wait(_TURN / 1000):
        yield set()
