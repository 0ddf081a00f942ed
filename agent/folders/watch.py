"""Watching followed folders: which collections have changes to sync."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing as closed
from pathlib import Path
from typing import Final

from agent.documents.found_files import is_folder, is_left_out
from traces.folders import Folder, Folders
from traces.store import Store

_log = logging.getLogger("deepthink.folders")
_DEBOUNCE: Final = 400  # milliseconds within which changes are reported together
_STEP: Final = 100
_TURN: Final = 1_000  # milliseconds
_TURNS: Final = 10  # between checks for folders that are new, gone or mounted
_LOOK_AGAIN: Final = 600.0  # seconds; network drives report no changes


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
        with closed(_changes([folder.path for folder in folders], store, closing)) as changes:
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


def _changes(roots: Sequence[str], store: Store, closing: threading.Event) -> Generator[set[str]]:
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
