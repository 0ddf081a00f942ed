"""The columns of a table, found by how its cells overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.documents.cell_values import is_value

Stretch = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and the stretch of the row it covers; ``strong`` if it is bold or marked as a header."""

    text: str
    start: float
    end: float
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row whose cells have found their columns: column number to text."""

    texts: dict[int, str]
    cells: tuple[Cell, ...]

    @property
    def label(self) -> str:
        return self.texts.get(0, "")

    @property
    def others(self) -> list[str]:
        return [text for column, text in self.texts.items() if column]


def overlap(cell: Cell, column: Stretch) -> bool:
    """Whether the cell lies, at least in part, in the column."""
    return min(cell.end, column[1]) - max(cell.start, column[0]) > 0.5


def nearest(cell: Cell, columns: Sequence[Stretch]) -> int:
    """The column the cell lies in or, failing that, closest to."""

    def distance(column: int) -> float:
        start, end = columns[column]
        return max(start - cell.end, cell.start - end, 0.0)

    return min(range(len(columns)), key=distance)


def place(cells: Sequence[Cell], columns: Sequence[Stretch]) -> Row:
    """The cells in their columns; one that spans several is in the first of them."""
    texts: dict[int, str] = {}
    for cell in cells:
        hit = [number for number, column in enumerate(columns) if overlap(cell, column)]
        number = hit[0] if hit else nearest(cell, columns)
        texts[number] = f"{texts[number]} {cell.text}" if number in texts else cell.text
    return Row(texts, tuple(cells))


def find_columns(rows: Sequence[Sequence[Cell]], *, exact: bool) -> list[Stretch]:
    """The columns' stretches, from left to right.

    Narrow cells come first: what overlaps two columns found so far spans them and makes none. Where
    cells are only as wide as their ink, rows of numbers decide, and names follow.
    """
    telling = [row for row in rows if any(is_value(cell.text) for cell in row[1:])]
    if exact or len(telling) < 2:
        telling = [row for row in rows if len(row) > 1]
    columns: list[Stretch] = []
    for cell in sorted((c for row in telling for c in row), key=lambda c: c.end - c.start):
        hit = [number for number, column in enumerate(columns) if overlap(cell, column)]
        if not hit:
            columns.append((cell.start, cell.end))
        elif len(hit) == 1:
            start, end = columns[hit[0]]
            columns[hit[0]] = (min(start, cell.start), max(end, cell.end))
    columns.sort()
    if exact:
        return columns
    return _with_empty(_without_halves(columns, telling), rows)


def _without_halves(columns: list[Stretch], rows: Sequence[Sequence[Cell]]) -> list[Stretch]:
    """The columns, two that some cell spans and that no row fills both made one.

    A digit at the right edge and a year in the middle of one column may not overlap.
    """
    index = 0
    while index + 1 < len(columns):
        one, two = columns[index], columns[index + 1]
        hits = [[(overlap(cell, one), overlap(cell, two)) for cell in row] for row in rows]
        spanned = any((True, True) in row for row in hits)
        filled = any((True, False) in row and (False, True) in row for row in hits)
        if spanned and not filled:
            columns[index : index + 2] = [(min(one[0], two[0]), max(one[1], two[1]))]
        else:
            index += 1
    return columns


def _with_empty(columns: list[Stretch], rows: Sequence[Sequence[Cell]]) -> list[Stretch]:
    """The columns, with those that have a name but no value: their neighbours have names too."""
    for row in rows:
        if len(row) < 3 or any(is_value(cell.text) for cell in row[1:]):
            continue
        named = {i for i, column in enumerate(columns) for cell in row if overlap(cell, column)}
        empty = [
            (cell.start, cell.end)
            for cell in row
            if not any(overlap(cell, column) for column in columns) and nearest(cell, columns) in named
        ]
        columns = sorted([*columns, *empty])
    return columns
