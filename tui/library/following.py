"""Followed folders in words, for the command line and the app."""

from __future__ import annotations

from collections import Counter

from traces.folders import Change, Folders, latest
from tui.run.words import local
from tui.terminal import counted

LEFT_OUT = " Its file is excluded from the followed folder, so it stays removed."
"""Shown when a removed document is in a followed folder."""


def when(change: Change) -> str:
    """The local time of a change, to the minute."""
    return f"{local(change.seen):%Y-%m-%d %H:%M}"


def described(change: Change) -> str:
    """The detail of a change."""
    return f"was {change.detail}" if change.outcome == "moved" else change.detail


def summary(folders: Folders) -> str:
    """The last changes in followed folders, in one line; "" if no folder is followed."""
    followed = folders.followed()
    if not followed:
        return ""
    if away := folders.away():
        path, detail = next(iter(away.items()))
        return f"! {path}: {detail}. Its documents stay in the library."
    line = f"Following {counted(len(followed), 'folder')}"
    changes = latest(folders.changes())
    if not changes:
        return f"{line}."
    counts = Counter(change.outcome for change in changes)
    happened = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{line}. Last change {when(changes[0])}: {happened}."
