"""Watching followed folders: which collections have something new to be read, and when."""

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
_DEBOUNCE: Final = 400  # milliseconds in which changes are taken together
_STEP: Final = 100
_TURN: Final = 1_000  # milliseconds
_TURNS: Final = 10  # after which it is looked whether the folders are still the same
_LOOK_AGAIN: Final = 600.0  # seconds: a network drive tells nobody of what changes on it


def due(store: Store, closing: threading.Event) -> Iterator[list[str]]:
    """Names of collections to be synced: all at first, then those in whose folders something changes.

    Where the system tells of no changes, all are due every ten minutes.

    Args:
        store: Knows the folders that are followed.
        closing: Ends it, within a second.
    """
    known: list[Folder] = []
    looked = time.monotonic()
    while not closing.is_set():
        folders = _there(store)
        waiting = {folder.collection for folder in folders if folder not in known}
        known = folders
        with closed(_changes([folder.path for folder in folders], store, closing)) as changes:
            # At the first turn they are watched already: what changes from then on is heard of.
            for turn, paths in enumerate(changes, start=1):
                waiting |= {folder.collection for folder in folders if folder.holds(paths)}
                if time.monotonic() - looked > _LOOK_AGAIN:
                    looked = time.monotonic()
                    waiting |= {folder.collection for folder in Folders(store).followed()}
                if waiting:
                    yield sorted(waiting)
                    waiting = set()
                if turn % _TURNS == 0 and _there(store) != folders:
                    break  # one is followed only now, or its drive was mounted


def _there(store: Store) -> list[Folder]:
    return [folder for folder in Folders(store).followed() if is_folder(Path(folder.path))]


def _changes(roots: Sequence[str], store: Store, closing: threading.Event) -> Generator[set[str]]:
    """Paths that changed in the folders; an empty set after a second without a change."""
    from watchfiles import watch

    own = f"{store.path.absolute().with_suffix('')}."

    def matters(path: str) -> bool:
        root = max((one for one in roots if path.startswith(one)), key=len, default="")
        return not path.startswith(own) and not any(map(is_left_out, Path(path[len(root) :]).parts))

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
        _log.info("folders are not watched but looked at now and then: %s", error)  # too many, or just gone
    while not closing.wait(_TURN / 1000):
        yield set()
