"""Spreadsheets (XLSX, XLSM, XLSB, XLS, ODS), by calamine.

A sheet is a section. Adjacent cells form a region, and each region is a table: lines of one cell above it
are its caption, and rows of names its header. Formulas are read as their stored values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from io import BytesIO
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agent.documents.document import Block, ParsedDocument, Table, encrypted
from agent.documents.formats.delimited import names_columns
from agent.documents.prose import joined, normal
from agent.documents.tables import is_value

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

_Value: TypeAlias = int | float | str | bool | time | date | datetime | timedelta
_Row: TypeAlias = list[str]
_MIDNIGHT = time()
_FEWEST_COLUMNS = 2  # beside an empty column; a single column belongs to the other side


def read_sheets(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a spreadsheet.

    Raises:
        UnreadableDocument: The file needs a password.
    """
    from python_calamine import CalamineWorkbook, PasswordError

    blocks: list[Block] = []
    lines: list[str] = []
    try:
        with CalamineWorkbook.from_filelike(BytesIO(data)) as book:
            for name in book.sheet_names:
                sheet = book.get_sheet_by_name(name)
                rows = [[_cell_text(value) for value in row] for row in sheet.iter_rows()]
                if any(map(any, rows)):
                    lines += [name, *(" ".join(filter(None, row)) for row in rows)]
                    _fill_merged(rows, sheet)
                    blocks.append(Block("heading", normal(name), level=1))
                    for band in _bands(rows):
                        for region in _side_by_side(band):
                            blocks += _region(region)
    except PasswordError as error:
        raise encrypted(path.name) from error
    return ParsedDocument(tuple(blocks), "\n".join(lines))


def _cell_text(value: _Value) -> str:
    """A cell's value in the default format."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        is_date = value.time() == _MIDNIGHT
        return value.date().isoformat() if is_date else value.isoformat(" ", "minutes")
    return normal(str(value))


def _fill_merged(rows: list[_Row], sheet: CalamineSheet) -> None:
    """Repeat the text of merged cells in each row that they cover, and in each column that they name."""
    top, left = sheet.start or (0, 0)
    for (first, column), (last, end) in sheet.merged_cell_ranges or ():
        if first >= top and column >= left and last - top < len(rows) and end - left < len(rows[0]):
            text = rows[first - top][column - left]
            is_partial = end - column + 1 < len(rows[0])  # else it is a title
            for row in rows[first - top : last - top + 1]:
                for index in range(column, end + 1 if is_partial else column + 1):
                    row[index - left] = text


def _bands(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """The bands of rows between empty rows; values that continue below an empty row join the band above."""
    bands: list[list[_Row]] = []
    for filled, group in groupby(rows, key=any):
        if filled:
            band = list(group)
            columns_above = _filled(bands[-1]) if bands else set()
            if len(columns_above) > 1 and _filled(band) <= columns_above and any(map(is_value, band[0])):
                bands[-1] += band
            else:
                bands.append(band)
    yield from bands


def _filled(rows: Sequence[_Row]) -> set[int]:
    return {column for row in rows for column, cell in enumerate(row) if cell}


def _side_by_side(band: Sequence[_Row]) -> Iterator[list[_Row]]:
    """The parts of a band between empty columns, without empty columns and rows."""
    parts: list[list[int]] = [[]]
    filled = sorted(_filled(band))
    for previous, column in pairwise([filled[0], *filled]):
        if column > previous + 1:
            parts.append([])
        parts[-1].append(column)
    if any(len(part) < _FEWEST_COLUMNS for part in parts):
        parts = [filled]
    for part in parts:
        rows = [[row[column] for column in part] for row in band]
        yield [row for row in rows if any(row)]


def _region(rows: Sequence[_Row]) -> Iterator[Block]:
    """A table below lines of one cell, or such lines alone."""
    first = next((number for number, row in enumerate(rows) if sum(map(bool, row)) > 1), len(rows))
    yield from (Block("text", " ".join(filter(None, row))) for row in rows[:first])
    if first == len(rows):
        return
    body = rows[first:]
    head = _head_rows(body)
    header = tuple(joined(dict.fromkeys(filter(None, cells))) for cells in zip(*body[:head], strict=True))
    yield Block("table", table=Table((header,) if head else (), tuple(map(tuple, body[head:]))))


def _head_rows(rows: Sequence[_Row]) -> int:
    """The number of header rows: rows with a name over several columns, and the row below them."""
    upper = 0
    while upper + 1 < len(rows) and any(
        name == next_name != "" for name, next_name in pairwise(rows[upper])
    ):
        upper += 1
    if upper + 1 < len(rows) and not any(is_value(cell) for row in rows[: upper + 1] for cell in row):
        return upper + 1
    return int(len(rows) > 1 and names_columns(rows[0], rows[1:]))
