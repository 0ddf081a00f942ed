"""Which lines of a PDF page make up a table, and which are text.

Nothing in a PDF says "table"; a row shows itself as a line of several segments. Rows that follow each
other are a table, together with the lines of one segment between them (section rows, broken labels)
and above them (units, a heading over some columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.documents.cell_values import is_unit, is_value
from agent.documents.columns import Cell
from agent.documents.document import Table
from agent.documents.formats.pdf_lines import Line, Segment, split_at_gaps
from agent.documents.grid import build_table

_BETWEEN = 5  # lines of one segment that a table may hold in a row
_HEADER_GAP = 0.5
_NEAR = 2.2  # heights between two rows of one table's head


@dataclass(frozen=True, slots=True)
class TableLines:
    """A table and the first of its lines."""

    table: Table
    first: Line


def tables_and_lines(lines: Sequence[Line]) -> list[Line | TableLines]:
    """The page's lines, with those that make up tables replaced by the tables."""
    found: list[Line | TableLines] = []
    index = 0
    while index < len(lines):
        end = _table_end(lines, index)
        if end is None:
            found.append(lines[index])
            index += 1
            continue
        rows = list(lines[index:end])
        above = _head(found, rows)
        table = build_table([_cells(line) for line in [*above, *rows]], exact=False)
        if table is None or sum(len(line.segments) > 1 for line in rows) < 2:
            found.extend(rows)
        else:
            if above:
                del found[-len(above) :]
            found.append(TableLines(table, [*above, *rows][0]))
        index = end
    return found


def _cells(line: Line) -> list[Cell]:
    parts: Sequence[Segment] = line.segments
    if not _has_values(line):  # names of columns stand closer together than numbers do
        parts = [
            Segment(tuple(words))
            for part in parts
            for words in split_at_gaps(part.words, line.height * _HEADER_GAP)
        ]
    return [Cell(part.text, part.x0, part.x1, part.bold) for part in parts]


def _table_end(lines: Sequence[Line], start: int) -> int | None:
    """One past the last line of the table that begins at ``start``, or None if none begins there."""
    if len(lines[start].segments) < 2:
        return None
    last = start
    has_values = _has_values(lines[start])
    while True:
        nxt = next(
            (
                i
                for i in range(last + 1, min(last + 2 + _BETWEEN, len(lines)))
                if len(lines[i].segments) > 1
            ),
            None,
        )
        if nxt is None:
            break
        between = lines[last + 1 : nxt]
        edge = _values_edge([*lines[start : last + 1], lines[nxt]])
        left = min(line.x0 for line in lines[start : nxt + 1])
        if has_values:
            if not all(_fits(line, edge) for line in between):
                break
        elif not all(_heads(line, left, edge) or _fits(line, edge) for line in between):
            break
        opens = not _has_values(lines[nxt]) and has_values
        if opens and (between or lines[last].y - lines[nxt].y > _NEAR * lines[last].height):
            break
        has_values = has_values or _has_values(lines[nxt])
        last = nxt
    end = last + 1
    while end < len(lines) and _continues(lines[end], lines[end - 1], lines[start].x0):
        end += 1
    return end


def _has_values(line: Line) -> bool:
    return any(is_value(part.text) for part in line.segments[1:])


def _values_edge(rows: Sequence[Line]) -> float:
    """Where the values begin: left of it there are only labels."""
    starts = [
        part.x0
        for row in rows
        for part in row.segments[1:]
        if is_value(part.text) or not any(is_value(p.text) for p in row.segments)
    ]
    return min(starts, default=0.0)


def _fits(line: Line, edge: float) -> bool:
    """Whether a line of one segment may be a row: a section's name or part of a broken label."""
    text = line.text
    return line.x1 <= edge + line.height and not text.endswith(".") and len(text.split()) <= 14


def _continues(line: Line, above: Line, left: float) -> bool:
    """Whether the line is the rest of the label above it."""
    return (
        len(line.segments) == 1
        and len(above.segments) > 1
        and line.text[:1].islower()
        and abs(line.x0 - above.x0) < above.height
        and above.y - line.y < 1.5 * above.height
        and line.x1 - left < 0.7 * (above.x1 - left)
    )


def _head(found: Sequence[Line | TableLines], rows: Sequence[Line]) -> list[Line]:
    """The lines of one segment right above the first row that name columns or units."""
    edge = _values_edge(rows)
    left = min(line.x0 for line in rows)
    head: list[Line] = []
    below = rows[0]
    for line in reversed(found):
        if isinstance(line, TableLines) or len(line.segments) > 1:
            break
        near = line.y - below.y < _NEAR * line.height
        if not near or not (is_unit(line.text) or _heads(line, left, edge)):
            break
        head.insert(0, line)
        below = line
    return head


def _heads(line: Line, left: float, edge: float) -> bool:
    """Whether a line of one segment stands over the values, and so names some columns."""
    over_values = line.x0 > edge - 5 * line.height and line.x0 > left + 2 * line.height
    return over_values and len(line.text.split()) <= 8
