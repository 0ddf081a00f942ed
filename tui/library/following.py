"""Text about followed folders, for the command line and the app."""

from __future__ import annotations

from collections import Counter

from traces.folders import Change, Folders
from tui.run.words import local
from tui.terminal import counted

LEFT_OUT = " Its file is excluded from the followed folder, so it stays removed."
"""Shown when a removed document is in a followed folder."""


def change_time(change: Change) -> str:
    """The local time of a change, to the minute."""
    return f"{local(change.seen):%Y-%m-%d %H:%M}"


def change_detail(change: Change) -> str:
    """The detail of a change."""
    return f"was {change.detail}" if change.outcome == "moved" else change.detail


def summary(folders: Folders) -> str:
    """Summarise the last changes in followed folders in one line; "" if no folder is followed."""
    followed_folders = folders.followed()
    if not followed_folders:
        return ""
    if missing := folders.away():
        path, detail = next(iter(missing.items()))
        return f"! {path}: {detail}. Its documents stay in the library."
    line = f"Following {counted(len(followed_folders), 'folder')}"
    changes = folders.changes()
    if not changes:
        return f"{line}."
    counts = Counter(change.outcome for change in changes if change.seen == changes[0].seen)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{line}. Last change {change_time(changes[0])}: {outcomes}."
