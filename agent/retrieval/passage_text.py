"""The text of a passage for the reader: the same in training and at run time.

A heading line names the source of the passage. A table's rows are written with their column headers, so
that each cell is beside the name of its column.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.documents import table_text
from agent.text.sentences import sentences
from traces.records import SECTION_SEPARATOR


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as the reader sees it."""

    text: str  # a heading line, then the body
    body: int  # offset at which the body begins
    units: tuple[tuple[int, int], ...]  # offsets of the body's sentences or table rows, in order

    def unit(self, start: int, end: int) -> str:
        """The sentences or rows that overlap ``text[start:end]``, joined; that text itself if none does."""
        overlapping = [(first, last) for first, last in self.units if first < end and last > start]
        return self.text[overlapping[0][0] : overlapping[-1][1]] if overlapping else self.text[start:end]


def show(title: str, section: str, date: str, text: str, kind: str) -> Shown:
    """The passage as the reader sees it.

    ``section`` is the stored path; its innermost heading is used. ``date`` may begin with an author.
    """
    places = dict.fromkeys(part for part in (title, last_heading(section)) if part)
    heading = " › ".join(places) + (f" ({date})" if date else "")
    body = spelled(text) if kind == "table" else text
    start = len(heading) + 1
    parts = body.splitlines() if kind == "table" else sentences(body)
    return Shown(f"{heading}\n{body}", start, tuple(_offsets(body, parts, start)))


def spelled(text: str) -> str:
    """A table with each row written as ``label: cell (column), cell (column)``."""
    head, body = table_text.parts(text)
    captions = [line for line in head if table_text.SEPARATOR not in line]
    rows = iter(table_text.rows(text))
    lines = [next(rows).spelled() if table_text.SEPARATOR in line else line for line in body]
    return "\n".join([*captions, *lines]) if lines else text


def last_heading(section: str) -> str:
    """The innermost heading of a stored section path."""
    return section.rsplit(SECTION_SEPARATOR, 1)[-1]


def _offsets(body: str, parts: list[str], start: int) -> list[tuple[int, int]]:
    offsets: list[tuple[int, int]] = []
    cursor = 0
    for part in parts:
        position = body.find(part, cursor)
        cursor = position + len(part)
        offsets.append((start + position, start + cursor))
    return offsets
