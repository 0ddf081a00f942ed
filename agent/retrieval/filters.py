"""Filters as the user writes them, such as ``from:petra after:2024-03 type:mail``, read into `Filters`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from typing import Final

from agent.documents.media_types import FORMATS, MEDIA_TYPES
from traces.errors import DeepthinkError
from traces.records import Filters

NAMES: Final = ("from", "after", "before", "type", "folder")
"""What can be filtered by."""

_WRITTEN: Final = re.compile(rf"(?:^|(?<=\s))({'|'.join(NAMES)}):(?:\"([^\"]+)\"|(\S+))", re.IGNORECASE)
_DAY: Final = re.compile(r"\d{4}(?:-\d\d){0,2}")


class BadFilter(DeepthinkError):
    """Raised when a filter has a value that it cannot have."""

    title = "Not a filter"
    kind = "usage"


def taken_from(text: str) -> tuple[str, list[tuple[str, str]]]:
    """A question without the filters that are written in it, and these: name and value."""
    written = [(found[1].lower(), found[2] or found[3]) for found in _WRITTEN.finditer(text)]
    return " ".join(_WRITTEN.sub("", text).split()), written


def filters_of(written: Iterable[tuple[str, str]]) -> Filters:
    """What a document must have, by the names and values of filters.

    Several values of ``from``, ``type`` or ``folder`` widen what fits, several days narrow it.

    Raises:
        BadFilter: a day or a type is none.
    """
    values: dict[str, list[str]] = {name: [] for name in NAMES}
    for name, value in written:
        if value.strip():
            values[name].append(value.strip())
    return Filters(
        people=tuple(values["from"]),
        after=max(map(_day, values["after"]), default=""),
        before=min(map(_day, values["before"]), default=""),
        kinds=tuple(dict.fromkeys(kind for word in values["type"] for kind in _kinds(word))),
        folders=tuple(value.strip("/") for value in values["folder"]),
    )


def _day(written: str) -> str:
    """A day, a month or a year as ISO writes it."""
    first = f"{written}-01-01"[:10] if _DAY.fullmatch(written) else ""
    try:
        date.fromisoformat(first)
    except ValueError as error:
        raise BadFilter(
            f"“{written}” is no date.", "Write the year, the month or the day: 2024, 2024-03 or 2024-03-05."
        ) from error
    return written


def _kinds(word: str) -> tuple[str, ...]:
    """Media types and file extensions that a word means: ``mail``, ``spreadsheet``, ``xlsx``."""
    wanted = word.casefold().lstrip(".")
    kinds = [kind.media_type for kind in FORMATS if wanted in {kind.group, kind.name.casefold()}]
    if f".{wanted}" in MEDIA_TYPES:
        kinds.append(f".{wanted}")
    if not kinds:
        groups = ", ".join(dict.fromkeys(kind.group for kind in FORMATS))
        raise BadFilter(f"There is no type “{word}”.", f"Use an ending, such as xlsx, or one of: {groups}.")
    return tuple(kinds)
