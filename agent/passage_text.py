"""How a passage is shown to the reader: the same text in training and at run time.

A heading line says where the passage is from; a table's rows are spelled out with their column heads, so
that a cell stands beside what it is the value of.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.cognition import tables
from agent.notebook import last_heading


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as the reader sees it.

    Attributes:
        text: A heading line, then the body.
        body: Offset in ``text`` at which the body begins.
    """

    text: str
    body: int


def show(title: str, section: str, date: str, text: str, kind: str) -> Shown:
    """Write a passage out for the reader.

    Args:
        title: Of the document.
        section: Stored section path; its innermost heading is shown.
        date: ISO date of the document, or "".
        text: The chunk as it is stored.
        kind: ``table`` for a table; anything else is shown as it is.
    """
    places = dict.fromkeys(part for part in (title, last_heading(section)) if part)
    heading = " › ".join(places) + (f" ({date})" if date else "")
    body = spelled(text) if kind == "table" else text
    return Shown(f"{heading}\n{body}", len(heading) + 1)


def spelled(text: str) -> str:
    """A table with every row written as ``label: cell (column), cell (column)``, one a line."""
    head, _ = tables.parts(text)
    captions = [line for line in head if tables.SEPARATOR not in line]
    lines: list[str] = []
    heading = ""
    for row in tables.rows(text):
        if row.heading and row.heading != heading:
            heading = row.heading
            lines.append(heading)
        lines.append(row.spelled())
    return "\n".join([*captions, *lines]) if lines else text
