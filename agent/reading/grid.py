"""From cells that lie somewhere to a table of rows and columns.

HTML cells lie on the columns of their spans, PDF segments on points of the page; both are intervals.
Columns are found by how the intervals overlap, so a currency sign, a closing parenthesis or a spacer
in a column of its own, a header over several columns and a number that is aligned to the right all
come out where a reader would see them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.reading.document import Table

_CURRENCY = re.compile(r"(?:[A-Z]{1,3})?[$€£¥₹]|[A-Z]{3}")
_CLOSING = re.compile(r"[)%\]]+|%\s*\)|pts\.?|bps")
_VALUE = re.compile(
    r"(?:[A-Z]{0,3}[$€£¥₹]|[A-Z]{3}\s)?[\s(\[<>~≈+\-−–]*(?:[A-Z]{0,3}[$€£¥₹])?\s*\.?\d(?:[\d,.'\s]*\d)?"
    r"(?:[)%\]\s*†]|\([a-z\d]{1,3}\)|pts\.?|bps|bn|m|x|years?|million|billion)*|[—–\-−]+\s*%?|n/?a|nm",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\(?(?:19|20)\d\d[A-Z]?\)?")
_UNIT = re.compile(
    r"\(.*(?:millions?|thousands?|billions?|dollars|unaudited|except|amounts|percent|[$€£¥%]).*\)"
    r"|.{0,12}\bin (?:millions|thousands|billions)\b.{0,40}",
    re.IGNORECASE,
)
_MOST_HEADER_ROWS = 8


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and the stretch of the row it covers; ``strong`` if it is bold or marked as a header."""

    text: str
    start: float
    end: float
    strong: bool = False


@dataclass(frozen=True, slots=True)
class _Placed:
    """A row after its cells found their columns: column number to text."""

    texts: dict[int, str]
    cells: tuple[Cell, ...]

    @property
    def label(self) -> str:
        return self.texts.get(0, "")

    @property
    def others(self) -> list[str]:
        return [text for column, text in self.texts.items() if column]


def is_value(text: str) -> bool:
    """Whether ``text`` is a quantity (or the dash for none), not a year that names a column."""
    return bool(_VALUE.fullmatch(text.strip())) and not _YEAR.fullmatch(text.strip())


def is_unit(text: str) -> bool:
    """Whether ``text`` only says in what the numbers count, such as ``(In millions)``."""
    return bool(_UNIT.fullmatch(text.strip()))


def build_table(
    rows: Sequence[Sequence[Cell]],
    *,
    exact: bool,
    header_rows: int | None = None,
    caption: str = "",
) -> Table | None:
    """The table that ``rows`` show, or None where they make no more than one column or row.

    Args:
        rows: Cells from left to right, rows from top to bottom.
        exact: True where a header's stretch says which columns it names (spans); False where it is
            only where its ink lies, so that it may name the columns beside it too.
        header_rows: How many rows name the columns, where the format says so.
        caption: Text above the table that belongs to it.
    """
    joined = [cells for cells in (_with_signs_joined(row) for row in rows) if cells]
    columns = _columns(joined, exact=exact)
    if len(columns) < 2:
        return None
    placed = [_place(row, columns) for row in joined]
    count = _header_count(placed) if header_rows is None else header_rows
    titles, header = _header(placed[:count], columns, exact=exact)
    body = placed[count:]
    if not exact:
        body = _unwrapped(body)
    if not body:
        return None
    return Table(
        header=(header,) if any(header) else (),
        rows=tuple(
            tuple(row.texts.get(column, "") for column in range(len(columns))) for row in body
        ),
        caption=" ".join(part for part in (caption, *titles) if part),
    )


def _with_signs_joined(row: Sequence[Cell]) -> list[Cell]:
    """The row's cells with ``$`` joined to the number after it and ``)`` or ``%`` to the one before."""
    cells: list[Cell] = []
    sign: Cell | None = None
    for given in row:
        text = " ".join(given.text.split())
        if not text:
            continue
        cell = replace(given, text=text)
        if _CURRENCY.fullmatch(text) and sign is None and len(text) < 3:
            sign = cell
            continue
        if sign is not None:
            if is_value(text):
                cell = Cell(sign.text + text, sign.start, cell.end, cell.strong)
            else:
                cells.append(sign)
            sign = None
        if cells and _CLOSING.fullmatch(text) and is_value(cells[-1].text):
            last = cells.pop()
            space = " " if text[0].isalpha() else ""
            cell = Cell(last.text + space + text, last.start, cell.end, last.strong)
        cells.append(cell)
    if sign is not None:
        cells.append(sign)
    return cells


def _columns(rows: Sequence[Sequence[Cell]], *, exact: bool) -> list[tuple[float, float]]:
    """The columns' stretches, from left to right.

    Narrow cells come first: what overlaps two columns found so far spans them and makes none.
    """
    with_values = [row for row in rows if any(is_value(cell.text) for cell in row[1:])]
    if exact or len(with_values) < 2:
        with_values = [row for row in rows if len(row) > 1]
    cells = sorted(
        (cell for row in with_values for cell in row), key=lambda cell: cell.end - cell.start
    )
    columns: list[tuple[float, float]] = []
    for cell in cells:
        hit = [i for i, column in enumerate(columns) if _overlap(cell, column)]
        if not hit:
            columns.append((cell.start, cell.end))
        elif len(hit) == 1:
            start, end = columns[hit[0]]
            columns[hit[0]] = (min(start, cell.start), max(end, cell.end))
    columns.sort()
    return columns if exact else _without_halves(columns, with_values)


def _without_halves(
    columns: list[tuple[float, float]], rows: Sequence[Sequence[Cell]]
) -> list[tuple[float, float]]:
    """The columns, two that some cell spans and that no row fills both made one.

    Numbers of one digit, aligned to the right, and years in the middle may not overlap.
    """
    index = 0
    while index + 1 < len(columns):
        one, two = columns[index], columns[index + 1]
        hits = [
            [(_overlap(cell, one), _overlap(cell, two)) for cell in row] for row in rows
        ]
        spanned = any(both == (True, True) for row in hits for both in row)
        filled = any((True, False) in row and (False, True) in row for row in hits)
        if spanned and not filled:
            columns[index : index + 2] = [(min(one[0], two[0]), max(one[1], two[1]))]
        else:
            index += 1
    return columns


def _overlap(cell: Cell, column: tuple[float, float]) -> bool:
    return min(cell.end, column[1]) - max(cell.start, column[0]) > 0.5


def _nearest(cell: Cell, columns: Sequence[tuple[float, float]]) -> int:
    def distance(column: int) -> float:
        start, end = columns[column]
        return max(start - cell.end, cell.start - end, 0.0)

    return min(range(len(columns)), key=distance)


def _place(row: Sequence[Cell], columns: Sequence[tuple[float, float]]) -> _Placed:
    texts: dict[int, str] = {}
    for cell in row:
        column = next(
            (i for i, stretch in enumerate(columns) if _overlap(cell, stretch)),
            None,
        )
        if column is None:
            column = _nearest(cell, columns)
        texts[column] = f"{texts[column]} {cell.text}" if column in texts else cell.text
    return _Placed(texts, tuple(row))


def _header_count(rows: Sequence[_Placed]) -> int:
    """How many leading rows name the columns rather than hold values."""
    in_numbers = any(is_value(text) for row in rows for text in row.others)
    if not in_numbers:
        first = next((i for i, row in enumerate(rows) if row.others), 0)
        strong = all(cell.strong for cell in rows[first].cells)
        return first + 1 if strong and first + 1 < len(rows) else 0
    count = 0
    named = False
    for row in rows[:_MOST_HEADER_ROWS]:
        if not row.others:
            if named and not is_unit(row.label):
                break
        elif any(is_value(text) for text in row.others):
            if row.label or all(is_value(text) for text in row.others):
                break
            named = True
        else:
            named = True
        count += 1
    return count if named else 0


def _header(
    rows: Sequence[_Placed], columns: Sequence[tuple[float, float]], *, exact: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Titles found among the header rows, and one name for each column."""
    titles: list[str] = []
    names: list[list[str]] = [[] for _ in columns]
    for row in rows:
        alone = len(row.cells) == 1
        if alone and (is_unit(row.cells[0].text) or _in_brackets(row.cells[0].text)):
            names[0].append(row.cells[0].text)
        elif alone and 0 in row.texts:
            titles.append(row.label)
        else:
            for cell, covered in _covered(row.cells, columns, exact=exact):
                for column in covered:
                    if cell.text not in names[column][-1:]:
                        names[column].append(cell.text)
    return titles, tuple(" ".join(parts) for parts in names)


def _in_brackets(text: str) -> bool:
    return text.startswith("(") and text.endswith(")")


def _covered(
    cells: Sequence[Cell], columns: Sequence[tuple[float, float]], *, exact: bool
) -> list[tuple[Cell, Sequence[int]]]:
    """Which columns each header cell names."""
    found: list[tuple[Cell, Sequence[int]]] = []
    for cell in cells:
        hit = [i for i, column in enumerate(columns) if _overlap(cell, column)]
        found.append((cell, hit or [_nearest(cell, columns)]))
    if exact:
        return found
    taken = [column for _, hit in found for column in hit]
    return [
        (cell, _centred_over(cell, hit, columns, [c for c in taken if c not in hit]))
        if hit[0] > 0
        else (cell, hit)
        for cell, hit in found
    ]


def _centred_over(
    cell: Cell,
    hit: Sequence[int],
    columns: Sequence[tuple[float, float]],
    taken: Sequence[int],
) -> Sequence[int]:
    """The widest run of untaken columns around ``hit`` over whose middle the cell stands."""
    middle = (cell.start + cell.end) / 2
    widest = hit
    for first in range(1, hit[0] + 1):
        for last in range(hit[-1], len(columns)):
            centre = (columns[first][0] + columns[last][1]) / 2
            if (
                last - first + 1 > len(widest)
                and abs(centre - middle) < 12
                and not any(first <= column <= last for column in taken)
            ):
                widest = range(first, last + 1)
    return widest


def _unwrapped(rows: Sequence[_Placed]) -> list[_Placed]:
    """The rows with labels and cells that were broken over two lines joined again."""
    whole: list[_Placed] = []
    for row in rows:
        last = whole[-1] if whole else None
        if last is None:
            whole.append(row)
            continue
        label_alone = not row.others
        continues = row.label[:1].islower() or row.label[:1] in {"(", "$"}
        if label_alone and continues and last.others:
            whole[-1] = _merged(last, row)
        elif (
            row.others
            and continues
            and not last.others
            and last.label
            and not last.label.endswith((":", "."))
        ):
            whole[-1] = _merged(last, row)
        elif (
            not row.label
            and last.others
            and not any(is_value(text) or _YEAR.fullmatch(text) for text in row.others)
        ):
            whole[-1] = _merged(last, row)
        else:
            whole.append(row)
    return whole


def _merged(upper: _Placed, lower: _Placed) -> _Placed:
    texts = dict(upper.texts)
    for column, text in lower.texts.items():
        texts[column] = f"{texts[column]} {text}" if column in texts else text
    return _Placed(texts, (*upper.cells, *lower.cells))
