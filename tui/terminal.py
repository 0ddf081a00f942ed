"""The terminal: its capabilities, and writing text to it safely."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from rich import box
from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from traces.plain_text import UNSAFE

_STRONG = re.compile(r"(\*\*)(?=\S)(.+?)(?<=\S)\1")
_BULLET = re.compile(r"^\s*(?:[-*+•]|#{1,6})\s+")
_SPECIAL_IN_QUOTES = '"$`\\!'  # what a shell interprets between double quotes
_WIDEST = 100  # columns; longer lines are hard to read in any window
_READABLE = 16  # columns; text in fewer is hard to read
_GAP = 2  # columns between two of a table
_PADDING = re.compile(r" +$", re.MULTILINE)
_UNBOUNDED = 10_000  # output for programs is never folded


class _PipedConsole(Console):
    """A console for programs: it writes no padding, and leaves closed pipes to `tui.failures`."""

    def print(self, *objects: Any, **options: Any) -> None:
        with self.capture() as printed:
            super().print(*objects, **options)
        self.file.write(_PADDING.sub("", printed.get()))
        self.file.flush()


def is_live(*, plain: bool = False) -> bool:
    """Whether stdout is a terminal that can move its cursor."""
    return not plain and sys.stdout.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}


def console() -> Console:
    """A console on stdout: of readable width on a terminal, elsewhere unbounded and without codes."""
    if not is_live():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdigit() and int(columns) else _UNBOUNDED
        return _PipedConsole(
            width=width,
            color_system=None,
            force_terminal=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
    out = Console(highlight=False, markup=False, emoji=False)
    out.width = min(out.width, _WIDEST)
    return out


def clean(text: str) -> str:
    """``text`` without unsafe characters: a document must not be able to control the terminal."""
    return UNSAFE.sub("", text)


def unmarked(text: str) -> str:
    """A line of Markdown without the marks of strong text, a bullet or a heading."""
    return _BULLET.sub("", _STRONG.sub(r"\2", text))


def one_line(text: str, longest: int = 0) -> str:
    """``text`` as a single clean line, cut with an ellipsis after ``longest`` cells if given."""
    line = " ".join(clean(text).split())
    if not longest or cell_len(line) <= longest:
        return line
    return f"{chop_cells(line, longest - 1)[0].rstrip() if longest > 1 else ''}…"


def shell_word(text: str) -> str:
    """``text`` as one word of a command to paste: in double quotes where these are safe and clearer."""
    if "'" in text and not any(character in text for character in _SPECIAL_IN_QUOTES):
        return f'"{text}"'
    return shlex.quote(text)


def padded(text: str, width: int) -> str:
    """``text`` as one line of exactly ``width`` cells: wide characters take two."""
    return set_cell_size(one_line(text, width), width)


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    spare: Sequence[str] = (),
) -> Table:
    """An unframed table without markup or control characters.

    Args:
        headers: Of all columns.
        rows: One value for each column; a `rich.text.Text` keeps its style.
        right: Columns that are aligned right and never folded.
        whole: Columns that are never folded.
        spare: Columns left out, in this order, as far as the window is too narrow for all of them; and
            where they hold nothing.
    """
    rows = list(rows)
    unbroken = {*right, *whole}

    def least(index: int) -> int:
        """The width of a column with room for its words."""
        widest = max(map(cell_len, (headers[index], *(str(row[index]) for row in rows))))
        return widest if headers[index] in unbroken else min(widest, _READABLE)

    shown = [
        index
        for index, header in enumerate(headers)
        if header not in spare or any(row[index] != "" for row in rows)
    ]
    for header in spare:
        if sum(least(index) + _GAP for index in shown) > console().width + _GAP:
            shown = [index for index in shown if headers[index] != header]
    grid = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    for index in shown:
        header = headers[index]
        grid.add_column(
            header,
            justify="right" if header in right else "left",
            no_wrap=header in unbroken,
            overflow="fold",
        )
    for row in rows:
        values = (row[index] for index in shown)
        grid.add_row(*(value if isinstance(value, Text) else Text(clean(str(value))) for value in values))
    return grid


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless the number is one."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def to_tabulate(items: Sequence[object], nothing: str, *, as_json: bool) -> bool:
    """Whether a table of the items is to be shown; JSON, or that there are none, is printed here."""
    if as_json:
        print_json(items)
    elif not items:
        console().print(nothing)
    return bool(items) and not as_json


def print_json(value: object) -> None:
    """Print a value as JSON: dataclasses as objects, times in ISO 8601 and UTC, paths as text."""
    sys.stdout.write(json.dumps(value, default=_to_json, ensure_ascii=False, indent=2) + "\n")


def _to_json(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):  # a pydantic model; pydantic is not imported for this
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='seconds')}Z"
    return list(value) if isinstance(value, set | frozenset) else str(value)


def size(count: int) -> str:
    if count >= 1_000_000_000:
        return f"{count / 1e9:.1f} GB"
    if count >= 1_000_000:
        return f"{count / 1e6:.0f} MB"
    return f"{max(count, 0) / 1e3:.0f} kB" if count >= 1000 else f"{count} bytes"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def moment(iso: str) -> str:
    """Format an ISO 8601 time as local time, to the minute; other text is unchanged."""
    try:
        return f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return iso
