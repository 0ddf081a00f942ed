"""Writing the settings file: one key at a time, comments kept, all or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

from traces.paths import config_file
from tui.settings.settings import BadSetting, checked, read_file, require_key


def put(key: str, text: str) -> object:
    """Set ``key`` in the file; returns the value as it is stored.

    Raises:
        BadSetting: unknown key, unusable value, or a file that cannot be read or written.
    """
    value = checked(key, text)
    document = _document()
    *groups, name = key.split(".")
    place = cast(dict[str, Any], document)
    for group in groups:
        if not isinstance(place.get(group), dict):
            place[group] = tomlkit.table()
        place = place[group]
    place[name] = value
    _write(document)
    return value


def drop(key: str) -> bool:
    """Remove ``key`` from the file, also one this version does not know; False if it was not there.

    Raises:
        BadSetting: neither a setting nor in the file, or the file cannot be read or written.
    """
    document = _document()
    *groups, name = key.split(".")
    place = cast(dict[str, Any], document)
    for group in groups:
        inner = place.get(group)
        place = inner if isinstance(inner, dict) else {}
    if name not in place:
        require_key(key)
        return False
    del place[name]
    _write(document)
    return True


def _document() -> tomlkit.TOMLDocument:
    read_file()  # says what is wrong with a file that cannot be parsed
    path = config_file()
    if not path.exists():
        return tomlkit.document()
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except TOMLKitError as error:
        raise BadSetting(
            f"The settings file {path} cannot be changed: {error}.", "Correct it in an editor."
        ) from error


def _write(document: tomlkit.TOMLDocument) -> None:
    """Write beside the file and move into place, so that a full disk leaves the old one whole."""
    path = config_file().resolve()  # a link into a folder of dotfiles stays a link
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        fresh = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(tomlkit.dumps(document).rstrip("\n") + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            fresh.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadSetting(
            f"The settings file {path} cannot be written: {error.strerror}.",
            "Make the folder writable, or set DEEPTHINK_HOME to another one.",
        ) from error
