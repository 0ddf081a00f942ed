"""Paths as users type them: with ``~``, incomplete, too long, or not accessible.

`pathlib` raises for unknown users, for names that are too long, for inaccessible folders and for invalid
characters; a path being typed can be any of these.
"""

from __future__ import annotations

from pathlib import Path


def expanded_path(typed: str | Path) -> Path:
    """``typed`` with ``~`` expanded.

    If the user does not exist, the path is taken literally, in the current folder, as in a shell.
    """
    try:
        return Path(typed).expanduser()
    except (RuntimeError, ValueError):  # no such user; an invalid user name
        return Path(typed).absolute()  # absolute, so its ``~`` is no longer expanded


def existing_path(typed: str | Path) -> Path | None:
    """``typed``, expanded; None if it does not exist or is not accessible."""
    path = expanded_path(typed)
    try:
        path.stat()
    except (OSError, ValueError):
        return None
    return path


def existing_file(typed: str | Path) -> Path | None:
    """As `existing_path`, for a file; None for a folder."""
    path = existing_path(typed)
    return path if path is not None and path.is_file() else None
