"""Writing the settings file: one key at a time, comments kept, all or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import tomlkit

from traces.paths import config_file
from tui.settings.settings import BadSetting, parse_value, read_file, require_key


def put(key: str, text: str) -> object:
    """Set ``key`` in the file; returns the value as it is stored.

    Raises:
        BadSetting: unknown key, unusable value, or a file that cannot be read or written.
    """
    value = parse_value(key, text)
    document = _document()
    table = document
    *groups, name = key.split(".")
    for group in groups:
        if not isinstance(table.get(group), dict):
            table[group] = tomlkit.table()
        table = table[group]
    table[name] = value
    _write(document)
    return value


def drop(key: str) -> bool:
    """Remove ``key`` from the file, even if this version does not know it; False if it was not there.

    Raises:
        BadSetting: neither a setting nor in the file, or the file cannot be read or written.
    """
    document = _document()
    table = document
    *groups, name = key.split(".")
    for group in groups:
        inner = table.get(group)
        table = inner if isinstance(inner, dict) else {}
    if name not in table:
        require_key(key)
        return False
    del table[name]
    _write(document)
    return True


def _document() -> dict[str, Any]:
    read_file()  # says what is wrong more clearly than tomlkit
    return read_file(tomlkit.parse)


def _write(document: dict[str, Any]) -> None:
    """Write a temporary file and move it into place, so that a full disk leaves the old one intact."""
    path = config_file().resolve()  # a link into a dotfiles folder stays a link
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(tomlkit.dumps(document).rstrip("\n") + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadSetting(
            f"The settings file {path} cannot be written: {error.strerror}.",
            "Make the folder writable, or set DEEPTHINK_HOME to another one.",
        ) from error
