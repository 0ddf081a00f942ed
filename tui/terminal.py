"""The terminal: its capabilities, and writing text to it safely."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Sequence
from datetime import datetime

from rich import box
from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console, RenderableType
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from traces.plain_text import UNSAFE

_STRONG = re.compile(r"(\*\*)(?=\S)(.+?)(?<=\S)\1")
_BULLET = re.compile(r"^\s*(?:[-*+•]|#{1,6})\s+")
_WIDEST = 100  # longer lines are hard to read, however wide the window is
_NARROW = 60  # an id, a date and a duration leave no room for words in less
_UNBOUNDED = 10_000  # what a program reads is never folded


class _Out(Console):
    """A console that leaves a closed pipe to `tui.failures`, like every other failure."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def is_live(*, plain: bool = False) -> bool:
    """True where a person watches a terminal that can move its cursor."""
    return not plain and sys.stdout.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}


def console() -> Console:
    """Stdout: as wide as is comfortable on a terminal, unbounded and without codes elsewhere."""
    if not is_live():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdigit() and int(columns) else _UNBOUNDED
        return _Out(
            width=width,
            color_system=None,
            force_terminal=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
    out = _Out(highlight=False, markup=False, emoji=False)
    out.width = min(out.width, _WIDEST)
    return out


def clean(text: str) -> str:
    """``text`` without unsafe characters: a document must not be able to steer the terminal."""
    return UNSAFE.sub("", text)


def unmarked(text: str) -> str:
    """A line of Markdown without the marks of its emphasis, its bullet or its heading."""
    return _BULLET.sub("", _STRONG.sub(r"\2", text))


def one_line(text: str, longest: int = 0) -> str:
    """``text`` as a single clean line, cut with an ellipsis after ``longest`` cells if given."""
    line = " ".join(clean(text).split())
    if not longest or cell_len(line) <= longest:
        return line
    return f"{chop_cells(line, longest - 1)[0].rstrip() if longest > 1 else ''}…"


def padded(text: str, width: int) -> str:
    """``text`` as one line of exactly ``width`` cells: wide characters take two."""
    return set_cell_size(one_line(text, width), width)


class _Columns(Table):
    """A table that leaves out some cells of each row."""

    def __init__(self, shown: Sequence[bool]) -> None:
        super().__init__(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
        )
        self._shown = shown

    def add_row(
        self, *renderables: RenderableType | None, style: StyleType | None = None, end_section: bool = False
    ) -> None:
        shown = (cell for cell, there in zip(renderables, self._shown, strict=True) if there)
        super().add_row(*shown, style=style, end_section=end_section)


def columns(
    *headers: str, right: Sequence[str] = (), whole: Sequence[str] = (), spare: Sequence[str] = ()
) -> Table:
    """An unframed table.

    Args:
        headers: Of all columns.
        right: Those aligned right, and never folded.
        whole: Those never folded.
        spare: Those left out of a narrow window, where rich would give up the ones that fold.
    """
    narrow = console().width < _NARROW
    shown = [not (narrow and header in spare) for header in headers]
    table = _Columns(shown)
    for header in (header for header, there in zip(headers, shown, strict=True) if there):
        table.add_column(
            header,
            justify="right" if header in right else "left",
            no_wrap=header in whole or header in right,
            overflow="fold",
        )
    return table


def cells(*values: object) -> list[Text]:
    """Table cells that are shown as they are, without markup or control characters."""
    return [value if isinstance(value, Text) else Text(clean(str(value))) for value in values]


def counted(number: int, noun: str) -> str:
    """A number with its noun, which takes an s but for one."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def print_json(value: object) -> None:
    """A value as JSON on stdout: dataclasses as objects, moments in ISO 8601 and UTC, paths as text."""
    sys.stdout.write(json.dumps(value, default=_plain, ensure_ascii=False, indent=2) + "\n")


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):  # of pydantic, which is not imported for this
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='seconds')}Z"
    return list(value) if isinstance(value, set | frozenset) else str(value)


def size(count: int) -> str:
    """Bytes as a person reads them."""
    if count >= 1_000_000_000:
        return f"{count / 1e9:.1f} GB"
    if count >= 1_000_000:
        return f"{count / 1e6:.0f} MB"
    return f"{max(count, 0) / 1e3:.0f} kB" if count >= 1000 else f"{count} bytes"


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def moment(iso: str) -> str:
    """A moment in ISO 8601 by this machine's clock, to the minute; other text as it is."""
    try:
        return f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return iso
