"""Reading filters as the user writes them, such as ``from:petra after:2024-03 type:mail``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import date
from typing import Final

from agent.documents.reading import BY_TYPE, FORMATS, MEDIA_TYPES
from traces.errors import DeepthinkError, did_you_mean
from traces.records import Filters

NAMES: Final = ("from", "after", "before", "type", "folder")

_FILTER: Final = re.compile(rf"(?:^|(?<=\s))({'|'.join(NAMES)}):(?:\"([^\"]+)\"|(\S+))", re.IGNORECASE)
_DAY: Final = re.compile(r"\d{4}(?:-\d\d){0,2}")


class BadFilter(DeepthinkError, title="Not a filter", kind="usage"):
    """Raised when a filter has an invalid value."""


def taken_from(text: str) -> tuple[str, list[tuple[str, str]]]:
    """A question without the filters written in it, and the name and value of each filter."""
    filters = [(match[1].lower(), match[2] or match[3]) for match in _FILTER.finditer(text)]
    return " ".join(_FILTER.sub("", text).split()), filters


def filters_of(pairs: Iterable[tuple[str, str]]) -> Filters:
    """The filters with the given names and values.

    With several values of ``from``, ``type`` or ``folder``, any of them may match; all days must. Raises
    `BadFilter` if a value is empty, or a day or a type is invalid.
    """
    values: dict[str, list[str]] = {name: [] for name in NAMES}
    for name, value in pairs:
        if not value.strip():
            raise BadFilter(f"“{name}” has no value.", "Write one, or leave it out.")
        values[name].append(value.strip())
    after = max(map(_day, values["after"]), default="")
    before = min(map(_day, values["before"]), default="")
    if after and before and _first_day(after) >= _first_day(before):
        raise BadFilter(
            f"No day is both after {after} and before {before}.", "Exchange them, or leave one out."
        )
    return Filters(
        people=tuple(values["from"]),
        after=after,
        before=before,
        kinds=tuple(dict.fromkeys(kind for word in values["type"] for kind in _kinds(word))),
        folders=tuple(value.strip("/") for value in values["folder"]),
    )


def as_written(filters: Filters) -> list[str]:
    """The filters as the user writes them."""
    pairs = [
        *(("from", name) for name in filters.people),
        ("after", filters.after),
        ("before", filters.before),
        *dict.fromkeys(("type", _word(kind, filters.kinds)) for kind in filters.kinds),
        *(("folder", name) for name in filters.folders),
    ]
    return [f'{name}:"{value}"' if " " in value else f"{name}:{value}" for name, value in pairs if value]


def _day(text: str) -> str:
    """The text, if it is a day, a month or a year in ISO format. Raises `BadFilter`."""
    try:
        date.fromisoformat(_first_day(text) if _DAY.fullmatch(text) else "")
    except ValueError as error:
        raise BadFilter(
            f"“{text}” is not a date.", "Write the year, the month or the day: 2024, 2024-03 or 2024-03-05."
        ) from error
    return text


def _first_day(text: str) -> str:
    return f"{text}-01-01"[:10]


def _word(kind: str, kinds: Collection[str]) -> str:
    """What a media type or extension is called: its group if ``kinds`` has all of that, else its name."""
    if kind not in BY_TYPE:
        return kind.removeprefix(".")
    own = BY_TYPE[kind]
    has_all = all(other.media_type in kinds for other in FORMATS if other.group == own.group)
    return own.group if has_all else own.name.casefold()


def _kinds(word: str) -> tuple[str, ...]:
    """The media types and file extensions that a word stands for: ``mail``, ``spreadsheet``, ``xlsx``."""
    name = word.casefold().lstrip(".")
    kinds = [kind.media_type for kind in FORMATS if name in {kind.group, kind.name.casefold()}]
    if f".{name}" in MEDIA_TYPES:
        kinds.append(f".{name}")
    if not kinds:
        groups = dict.fromkeys(kind.group for kind in FORMATS)
        choice = f"Use an extension, such as xlsx, or one of: {', '.join(groups)}."
        extensions = [suffix.removeprefix(".") for suffix in MEDIA_TYPES]
        near = did_you_mean(name, [*groups, *extensions], "")
        raise BadFilter(f"There is no type “{word}”.", f"{near} {choice}".lstrip())
    return tuple(kinds)
