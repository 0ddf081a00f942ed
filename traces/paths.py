"""All paths that the product reads or writes.

The platform's own folders are used unless ``DEEPTHINK_HOME`` names one folder for everything;
``DEEPTHINK_MODELS`` moves only the model files, which are large and worth sharing.

A path that a user types may have ``~``, or be incomplete, too long or inaccessible, for which `pathlib`
raises: `expanded_path`, `existing_path` and `existing_file` do not.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import platformdirs

_APP = "deepthink"


def _folder(kind: str) -> Path:
    home = os.environ.get("DEEPTHINK_HOME")
    return Path(home).expanduser() / kind if home else Path(getattr(platformdirs, f"user_{kind}_dir")(_APP))


def keep_private() -> None:
    """Keep other users of this machine from reading what this process writes, and existing folders."""
    os.umask(0o077)
    for folder in (data_dir(), state_dir(), config_file().parent):
        with suppress(OSError):  # a missing folder, or another user's
            folder.chmod(0o700)


def data_dir() -> Path:
    """Folder of data that must not be lost: the store and, by default, the models."""
    return _folder("data")


def config_file() -> Path:
    """The settings file (TOML); it need not exist."""
    return _folder("config") / "config.toml"


def state_dir() -> Path:
    """Folder of logs and other files that are useful but may be deleted."""
    return _folder("state")


def models_dir() -> Path:
    """Folder of model files."""
    models = os.environ.get("DEEPTHINK_MODELS")
    return Path(models).expanduser() if models else data_dir() / "models"


def store_file() -> Path:
    """The DuckDB file."""
    return data_dir() / "deepthink.duckdb"


def probes_file() -> Path:
    """Measurements of each model (JSON)."""
    return data_dir() / "probes.json"


def scans_dir() -> Path:
    """Folder of text recognised on scanned pages of files that are not fully read yet."""
    return state_dir() / "scans"


def originals_dir() -> Path:
    """Folder of copies of files inside other files, made for opening in other programs."""
    return state_dir() / "originals"


def log_file() -> Path:
    """The log written with ``--debug`` and on unexpected failures."""
    return state_dir() / "deepthink.log"


def socket_file() -> Path:
    """The socket on which `deepthink serve` listens; private to the user."""
    return state_dir() / "serve.sock"


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
