"""From cells with a position to a table of rows and columns.

An HTML cell covers the columns of its span, a PDF segment an interval on the page; both are intervals.
Columns are found by how the intervals overlap, so that currency signs, closing parentheses and spacers in
their own columns, headers over several columns, and right-aligned numbers end up where a reader sees them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from agent.documents.document import Table
from agent.documents.prose import is_marker, joined

_CURRENCY = re.compile(r"(?:[A-Z]{1,3})?[$€£¥₹]")
_CLOSING = re.compile(r"[)%\]]+|%\s*\)|pts\.?|bps")
_CODE = r"(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|CAD|AUD|HKD|INR|KRW)\s?"
_VALUE = re.compile(
    rf"(?:[A-Z]{{0,3}}[$€£¥₹]|{_CODE})?"
    r"[\s(\[<>~≈+\-−–]*(?:[A-Z]{0,3}[$€£¥₹])?\s*\.?\d(?:[\d,.'\s]*\d)?"
    r"(?:[)%\]\s*†]|\^[+\-−–]?\d+(?:,\d+)*|\([a-z\d]{1,3}\)|pts\.?|bps|bn|m|x|years?|million|billion)*"
    r"|[—–\-−]+\s*%?|n/?a|nm",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\(?(?:19|20)\d\d(?:[A-Z]|\^\d+)?\)?")
_UNIT = re.compile(
    r"\(.*(?:millions?|thousands?|billions?|dollars|unaudited|except|amounts|percent|[$€£¥%]).*\)"
    r"|.{0,12}\bin (?:millions|thousands|billions)\b.{0,40}",
    re.IGNORECASE,
)
_PERIOD = re.compile(  # 13 Weeks Ended; As of June 30,; 2022
    r"\b(?:ended|ending|as of|fiscal|year|quarter|months|weeks|q[1-4]|[12]h|(?:19|20)\d\d)\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.?\s+\d",
    re.IGNORECASE,
)
_Stretch = tuple[float, float]
_MOST_ROWS = 8
LONGEST_REPEATED = 8  # words; a cell over several rows that has more is not repeated in each
_OFF_CENTRE = 20.0  # points by which a period may miss the centre of the columns below it
_WORD = re.compile(r"[^\W\d_]{2}")


def is_value(text: str) -> bool:
    """Whether ``text`` is a quantity (or a dash), and not a year that names a column."""
    return bool(_VALUE.fullmatch(text.strip())) and not _is_year(text)


def _is_year(text: str) -> bool:
    return bool(_YEAR.fullmatch(text.strip()))


def is_unit(text: str) -> bool:
    """Whether ``text`` only gives the unit of the numbers, such as ``(In millions)``."""
    return bool(_UNIT.fullmatch(text.strip()))


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and its extent in the row; ``strong`` if it is bold or marked as a header."""

    text: str
    start: float
    end: float
    strong: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its cells assigned to columns: column number to text."""

    texts: dict[int, str]
    cells: tuple[Cell, ...]

    @property
    def label(self) -> str:
        return self.texts.get(0, "")

    @property
    def others(self) -> list[str]:
        return [text for column, text in self.texts.items() if column]


def _overlap(cell: Cell, column: _Stretch) -> bool:
    return min(cell.end, column[1]) - max(cell.start, column[0]) > 0.5


def _overlapped(cell: Cell, columns: Sequence[_Stretch]) -> list[int]:
    return [number for number, column in enumerate(columns) if _overlap(cell, column)]


def _nearest(cell: Cell, columns: Sequence[_Stretch]) -> int:
    def distance(column: int) -> float:
        start, end = columns[column]
        return max(start - cell.end, cell.start - end, 0.0)

    return min(range(len(columns)), key=distance)


def _columns_of(cell: Cell, columns: Sequence[_Stretch]) -> Sequence[int]:
    """The columns that the cell overlaps, else the closest one."""
    return _overlapped(cell, columns) or [_nearest(cell, columns)]


def _place(cells: Sequence[Cell], columns: Sequence[_Stretch]) -> _Row:
    """The cells in their columns; a cell that spans several columns goes into the first."""
    texts: dict[int, str] = {}
    for cell in cells:
        number = _columns_of(cell, columns)[0]
        texts[number] = f"{texts[number]} {cell.text}" if number in texts else cell.text
    return _Row(texts, tuple(cells))


def _find_columns(rows: Sequence[Sequence[Cell]], *, exact: bool) -> list[_Stretch]:
    """The extents of the columns, from left to right.

    Narrow cells are placed first: a cell that overlaps two columns found so far spans them and adds no new
    one. Where cells are only as wide as their ink (not ``exact``), rows of numbers decide.
    """
    informative = [row for row in rows if any(is_value(cell.text) for cell in row[1:])]
    if exact or len(informative) < 2:
        informative = [row for row in rows if len(row) > 1]
    columns: list[_Stretch] = []
    for cell in sorted((c for row in informative for c in row), key=lambda c: c.end - c.start):
        hit = _overlapped(cell, columns)
        if not hit:
            columns.append((cell.start, cell.end))
        elif len(hit) == 1:
            start, end = columns[hit[0]]
            columns[hit[0]] = (min(start, cell.start), max(end, cell.end))
    columns.sort()
    if exact:
        return columns
    return _with_empty(_without_halves(columns, informative), rows)


def _without_halves(columns: list[_Stretch], rows: Sequence[Sequence[Cell]]) -> list[_Stretch]:
    """The columns, merging neighbours if a cell spans both and no row fills them separately.

    A digit at the right edge and a year in the middle of one column may not overlap.
    """
    index = 0
    while index + 1 < len(columns):
        left, right = columns[index], columns[index + 1]
        hits = [[(_overlap(cell, left), _overlap(cell, right)) for cell in row] for row in rows]
        spanned = any((True, True) in row for row in hits)
        filled = any((True, False) in row and (False, True) in row for row in hits)
        if spanned and not filled:
            columns[index : index + 2] = [(min(left[0], right[0]), max(left[1], right[1]))]
        else:
            index += 1
    return columns


def _with_empty(columns: list[_Stretch], rows: Sequence[Sequence[Cell]]) -> list[_Stretch]:
    """The columns, with those that have a name but no values, if their neighbours have names too."""
    for row in rows:
        if len(row) < 3 or any(is_value(cell.text) for cell in row[1:]):
            continue
        named_columns = {column for cell in row for column in _overlapped(cell, columns)}
        empty = [
            (cell.start, cell.end)
            for cell in row
            if not _overlapped(cell, columns) and _nearest(cell, columns) in named_columns
        ]
        columns = sorted([*columns, *empty])
    return columns


def _count_header_rows(rows: Sequence[_Row]) -> int:
    """The number of leading rows that name the columns."""
    if not any(is_value(text) for row in rows for text in row.others):
        first = next((index for index, row in enumerate(rows) if row.others), 0)
        strong = all(cell.strong for cell in rows[first].cells)
        return first + 1 if strong and first + 1 < len(rows) else 0
    count = 0
    has_names = False
    for row in rows[:_MOST_ROWS]:
        if not row.others:
            if has_names and not is_unit(row.label):
                break
        elif any(is_value(text) for text in row.others) and (
            row.label or all(is_value(text) for text in row.others)
        ):
            break
        else:
            has_names = True
        count += 1
    return count if has_names else 0


def _name_columns(
    rows: Sequence[_Row], columns: Sequence[_Stretch], *, exact: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Titles among the header rows, and one name for each column.

    ``rows`` are the header rows, from top to bottom; ``exact`` as for `build_table`.
    """
    titles: list[str] = []
    names: list[list[str]] = [[] for _ in columns]
    for row in rows:
        single = row.cells[0].text if len(row.cells) == 1 else ""
        if single and (is_unit(single) or (single.startswith("(") and single.endswith(")"))):
            names[0].append(single)
        elif single and 0 in row.texts:
            titles.append(single)
        else:
            for cell, covered in _covered(row, rows[-1], columns, exact=exact):
                for column in covered:
                    if cell.text not in names[column][-1:]:
                        names[column].append(cell.text)
    return titles, tuple(joined(parts) for parts in names)


def _covered(
    row: _Row, lowest: _Row, columns: Sequence[_Stretch], *, exact: bool
) -> Iterator[tuple[Cell, Sequence[int]]]:
    """Which columns each cell of a header row names."""
    cells_with_columns = [(cell, _columns_of(cell, columns)) for cell in row.cells]
    labels = [(cell, hit) for cell, hit in cells_with_columns if hit[0] == 0]
    others = [(cell, hit) for cell, hit in cells_with_columns if hit[0] > 0]
    if exact or not others:
        yield from cells_with_columns
        return
    yield from labels
    distinct = len({cell.text for cell, _ in others}) == len(others)
    if row is not lowest and distinct and (blocks := _blocks(len(others), lowest, len(columns))):
        yield from ((cell, block) for (cell, _), block in zip(others, blocks, strict=True))
        return
    taken_columns = {column for _, hit in others for column in hit}
    for cell, hit in others:
        if _PERIOD.search(cell.text):
            yield cell, _centred(cell, hit, columns, taken_columns - set(hit))
        else:
            yield cell, hit


def _blocks(count: int, lowest: _Row, width: int) -> list[range]:
    """The columns in ``count`` blocks, if their names repeat: 2022, 2021, 2022, 2021."""
    names = [lowest.texts.get(column, "") for column in range(1, width)]
    size, rest = divmod(len(names), count)
    if count < 2 or size < 2 or rest or names != names[:size] * count or not all(names):
        return []
    return [range(1 + block * size, 1 + (block + 1) * size) for block in range(count)]


def _centred(
    cell: Cell, hit: Sequence[int], columns: Sequence[_Stretch], taken_columns: set[int]
) -> Sequence[int]:
    """The widest run of free columns around ``hit`` that the cell is centred over."""
    middle = (cell.start + cell.end) / 2
    runs: list[tuple[float, Sequence[int]]] = [(_OFF_CENTRE, hit)]
    for first in range(1, hit[0] + 1):
        for last in range(hit[-1], len(columns)):
            if not taken_columns.intersection(range(first, last + 1)):
                centre = (columns[first][0] + columns[last][1]) / 2
                runs.append((abs(centre - middle), range(first, last + 1)))
    best = min(off for off, _ in runs)
    return max((run for off, run in runs if off < best + 4), key=len)


def build_table(
    rows: Sequence[Sequence[Cell]], *, exact: bool, header_rows: int | None = None, caption: str = ""
) -> Table | None:
    """The table in ``rows``, or None if there is only one column or only the header.

    Args:
        rows: Cells from left to right, rows from top to bottom.
        exact: True if a header's extent shows which columns it names (spans); False if it only shows
            where its ink is, so that the header may name the columns beside it too.
        header_rows: The number of rows that name the columns, if the format declares it.
        caption: Text above the table that belongs to it.
    """
    heads = _heads(rows, header_rows) if exact else []
    merged = [cells for cells in (_with_signs_joined(row, heads) for row in rows) if cells]
    columns = _find_columns(merged, exact=exact)
    if len(columns) < 2:
        return None
    placed_rows = [_place(row, columns) for row in merged]
    count = _count_header_rows(placed_rows) if header_rows is None else header_rows
    titles, header = _name_columns(placed_rows[:count], columns, exact=exact)
    body = placed_rows[count:] if exact else _unwrapped(placed_rows[count:])
    if not body:
        return None
    return Table(
        header=(header,) if any(header) else (),
        rows=tuple(tuple(row.texts.get(column, "") for column in range(len(columns))) for row in body),
        caption=" ".join(part for part in (caption, *titles) if part),
    )


def _heads(rows: Sequence[Sequence[Cell]], declared: int | None) -> list[Sequence[Cell]]:
    """The rows that may name columns: the ``declared`` ones, else those above the first value."""
    if declared is not None:
        return list(rows[:declared])
    return list(takewhile(lambda row: not any(is_value(cell.text) for cell in row[1:]), rows))


def _named_separately(sign: Cell, value: Cell, heads: Sequence[Sequence[Cell]]) -> bool:
    """Whether a row of ``heads`` names the sign (as ``Unit``) and the value separately."""
    for row in heads:
        over_sign, over_value = (
            [cell for cell in row if cell.text.strip() and _overlap(cell, (part.start, part.end))]
            for part in (sign, value)
        )
        in_words = any(_WORD.search(cell.text) for cell in over_sign)
        if in_words and over_value and not any(cell in over_value for cell in over_sign):
            return True
    return False


def _with_signs_joined(row: Sequence[Cell], heads: Sequence[Sequence[Cell]]) -> list[Cell]:
    """The row's cells with ``$`` joined to the next number and ``)`` or ``%`` to the previous one,
    unless ``heads`` name the two separately."""
    cells: list[Cell] = []
    sign: Cell | None = None
    for original in row:
        text = " ".join(original.text.split())
        if not text:
            continue
        cell = replace(original, text=text)
        if _CURRENCY.fullmatch(text) and sign is None:
            sign = cell
            continue
        if sign is not None:
            if is_value(text) and not _named_separately(sign, cell, heads):
                cell = Cell(sign.text + text, sign.start, cell.end, cell.strong)
            else:
                cells.append(sign)
            sign = None
        if (
            cells
            and _CLOSING.fullmatch(text)
            and is_value(cells[-1].text)
            and (text[0] in ")]" or not _named_separately(cell, cells[-1], heads))
        ):
            last = cells.pop()
            space = " " if text[0].isalpha() else ""
            cell = Cell(last.text + space + text, last.start, cell.end, last.strong)
        cells.append(cell)
    if sign is not None:
        cells.append(sign)
    return cells


def _unwrapped(rows: Sequence[_Row]) -> list[_Row]:
    """The rows, joining labels and cells that were broken over two lines."""
    merged: list[_Row] = []
    for row in rows:
        if not merged or not _continues(merged[-1], row):
            merged.append(row)
            continue
        upper = merged[-1]
        texts = dict(upper.texts)
        for column, text in row.texts.items():
            texts[column] = joined([texts[column], text]) if column in texts else text
        merged[-1] = _Row(texts, (*upper.cells, *row.cells))
    return merged


def _continues(previous: _Row, row: _Row) -> bool:
    if not row.label:
        in_words = not any(is_value(text) or _is_year(text) for text in row.others)
        return bool(previous.others) and in_words
    continues_sentence = row.label[0] == "$" or row.label.lstrip("(")[:1].islower()
    if not continues_sentence or row.label.endswith(":") or is_marker(row.label.split()[0]):
        return False
    if row.others:
        return not previous.others and not previous.label.endswith((":", "."))
    # What is wider than the column of labels is a line of its own.
    label, *others = previous.cells
    beside = [cell.start for cell in others if cell.start >= label.end]
    return bool(previous.others) and row.cells[0].end <= min(beside, default=math.inf)
