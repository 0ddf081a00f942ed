"""How a passage is shown to the reader: the same text in training and at run time.

A heading line names the source of the passage. A table's rows are written with their column heads, so that
each cell is beside the name of its column.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.documents import table_text
from agent.retrieval.sections import last_heading
from agent.text.sentences import sentences


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as the reader sees it.

    Attributes:
        text: A heading line, then the body.
        body: Offset in ``text`` at which the body begins.
        units: The body's sentences or table rows with their offsets in ``text``, in order.
    """

    text: str
    body: int
    units: tuple[tuple[int, int], ...]

    def unit(self, start: int, end: int) -> str:
        """The sentences or rows that contain ``text[start:end]``, joined; that text itself if none does."""
        held = [(first, last) for first, last in self.units if first < end and last > start]
        return self.text[held[0][0] : held[-1][1]] if held else self.text[start:end]


def show(title: str, section: str, date: str, text: str, kind: str) -> Shown:
    """Write a passage for the reader.

    ``section`` is the stored path, of which the innermost heading is shown; ``date`` may follow an author.
    """
    places = dict.fromkeys(part for part in (title, last_heading(section)) if part)
    heading = " › ".join(places) + (f" ({date})" if date else "")
    body = spelled(text) if kind == "table" else text
    start = len(heading) + 1
    parts = body.splitlines() if kind == "table" else sentences(body)
    return Shown(f"{heading}\n{body}", start, tuple(_offsets(body, parts, start)))


def spelled(text: str) -> str:
    """A table with each row as a line ``label: cell (column), cell (column)``."""
    head, _ = table_text.parts(text)
    captions = [line for line in head if table_text.SEPARATOR not in line]
    lines: list[str] = []
    heading = ""
    for row in table_text.rows(text):
        if row.heading and row.heading != heading:
            heading = row.heading
            lines.append(heading)
        lines.append(row.spelled())
    return "\n".join([*captions, *lines]) if lines else text


def _offsets(body: str, parts: list[str], start: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    cursor = 0
    for part in parts:
        at = body.find(part, cursor)
        cursor = at + len(part)
        found.append((start + at, start + cursor))
    return found
