"""Followed folders on the command line: sync, the list of folders, and the list of changes."""

from __future__ import annotations

import os
from pathlib import Path

from rich.text import Text

from agent.documents.found_files import is_folder
from agent.folders.sync import sync
from traces.folders import Change, Folders
from traces.paths import scans_dir
from traces.records import UnknownCollection
from traces.typed_path import expanded_path
from tui import failures
from tui.assemble import open_embedder, open_recogniser, open_store
from tui.failures import WrongUsage
from tui.interrupts import ctrl_c
from tui.library.ingesting import show_ingestion
from tui.settings.settings import load
from tui.terminal import cells, clean, columns, console, print_json

LEFT_OUT = " Its file is excluded from the followed folder, so it stays removed."
"""Shown when a removed document is in a followed folder."""

_NONE = "No folder is followed yet. `deepthink ingest FOLDER` reads a folder and follows it."


def sync_folders(collections: list[str]) -> int:
    """Sync the named collections, or all; returns the exit code.

    Raises:
        UnknownCollection: A named collection follows no folder.
        SyncUnderWay: Another process is syncing.
    """
    store = open_store()
    followed = {folder.collection for folder in Folders(store).followed()}
    for name in collections:
        if name not in followed:
            raise UnknownCollection(
                f"The collection “{name}” follows no folder.",
                "`deepthink library folders` lists the followed folders.",
            )
    if not followed:
        console().print(_NONE)
        return failures.DONE
    settings = load()
    embedder = open_embedder(settings)
    with ctrl_c() as cancel:
        return show_ingestion(
            sync(
                collections,
                store=store,
                embedder=embedder,
                recogniser=open_recogniser(settings),
                scans=scans_dir(),
                cancel=cancel,
            )
        )


def show_folders(*, as_json: bool = False) -> None:
    """One line per followed folder."""
    followed = Folders(open_store()).followed()
    if as_json:
        print_json(followed)
        return
    if not followed:
        console().print(_NONE)
        return
    table = columns("collection", "folder", "excluded", "")
    for folder in followed:
        there = "" if is_folder(Path(folder.path)) else "missing"
        table.add_row(*cells(folder.collection, folder.path, "  ".join(folder.exclude), there))
    console().print(table)


def show_changes(*, as_json: bool = False) -> None:
    """One line per change, newest first."""
    changes = Folders(open_store()).changes()
    if as_json:
        print_json(changes)
        return
    if not changes:
        console().print("Nothing has changed in the followed folders yet.")
        return
    table = columns("when", "collection", "", "file", "", whole=("when",))
    for change in changes:
        table.add_row(*cells(when(change), change.collection, change.outcome, change.name, told(change)))
    console().print(table)


def when(change: Change) -> str:
    """The local time of a change, to the minute."""
    from datetime import UTC

    return f"{change.seen.replace(tzinfo=UTC).astimezone():%Y-%m-%d %H:%M}"


def told(change: Change) -> str:
    """The detail of a change, in words."""
    return f"was {change.detail}" if change.outcome == "moved" else change.detail


def unfollow(typed: str) -> None:
    """Stop following a folder. Raises `WrongUsage` if it is not followed."""
    path = os.path.realpath(expanded_path(typed))
    if not Folders(open_store()).unfollow(path):
        raise WrongUsage(
            f"{clean(path)} is not followed.", "`deepthink library folders` lists the followed folders."
        )
    console().print(Text(f"{clean(path)} is no longer followed. Its documents stay in the library."))
