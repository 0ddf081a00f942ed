"""Paths as a person types them: with ``~``, half written, too long, or not to be looked at.

`pathlib` raises for a user that is not known, for a name that is too long, for a folder that may not be
entered and for a character that no path holds; what is typed is any of these on its way.
"""

from __future__ import annotations

from pathlib import Path


def expanded_path(typed: str | Path) -> Path:
    """``typed`` with ``~`` as the home it stands for.

    Where there is no such user it stands for itself, in the current folder, as in a shell.
    """
    try:
        return Path(typed).expanduser()
    except (RuntimeError, ValueError):  # no such user; a name that no user could have
        return Path(typed).absolute()  # from here on its ``~`` is no home any more


def existing_path(typed: str | Path) -> Path | None:
    """Where ``typed`` leads, expanded; None if nothing is there, or nothing that may be looked at."""
    path = expanded_path(typed)
    try:
        path.stat()
    except (OSError, ValueError):
        return None
    return path


def existing_file(typed: str | Path) -> Path | None:
    """As `existing_path`, for a file; None for a folder too."""
    path = existing_path(typed)
    return path if path is not None and path.is_file() else None
