"""Spreadsheets (XLSX, XLSM, XLSB, XLS, ODS), by calamine, and CSV with any separator.

A sheet is a section. Adjacent cells form a region, and each region is a table: lines of one cell above it
are its caption, and rows of names its header. Formulas are read as their stored values.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, time
from io import BytesIO
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import TypeAlias

from python_calamine import CalamineSheet, CalamineWorkbook, PasswordError

from agent.documents.document import Block, ParsedDocument, Table, damaged, encrypted
from agent.documents.encoding import decode
from agent.documents.prose import joined, normal
from agent.documents.tables import is_value

_Row: TypeAlias = list[str]
_FEWEST_COLUMNS = 2  # beside an empty column; a single column belongs to the other side

_SEPARATORS = ";\t|,"  # the comma last: numbers and sentences contain it
_LONGEST_CELL = 1 << 24
_SAMPLE = 200  # lines that decide on the separator
_FEWEST_SWALLOWED = 2  # rows inside one cell whose quote is never closed
_FEWEST_NUMBERS = 3  # consecutive numbers that name columns; fewer may be values
_CELL, _FORMULA, _VALUE = (
    f"{{http://schemas.openxmlformats.org/spreadsheetml/2006/main}}{name}" for name in "cfv"
)
_MOST_CELLS = 100_000  # examined for formulas
_COMMA_IN_NUMBER = re.compile(r"(?<=\d),(?=\d)")


def read_sheets(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a spreadsheet. Raises `UnreadableDocument` if the file needs a password."""
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
                    regions = (region for band in _bands(rows) for region in _side_by_side(band))
                    blocks += [block for region in regions for block in _region(region)]
    except PasswordError as error:
        raise encrypted(path.name) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what Rust raises is no Exception
            raise
        raise damaged(path.name, error) from error
    count = _uncalculated(data)
    notice = f"{count} {'formula has' if count == 1 else 'formulas have'} no stored value. "
    way_out = "Save the file in a spreadsheet program, and read it again."
    return ParsedDocument(tuple(blocks), "\n".join(lines), notices=(f"{notice}{way_out}",) if count else ())


def _uncalculated(data: bytes) -> int:
    """How many formulas of an XLSX file have no value: a program that cannot calculate has written them.

    The reader of the values tells nothing of formulas, so that the file is read again: its beginning, since
    one program has written all of it.
    """
    from lxml import etree

    if not zipfile.is_zipfile(BytesIO(data)):
        return 0
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
        cells = (cell for name in names for _, cell in etree.iterparse(archive.open(name), tag=_CELL))
        return sum(
            cell.find(_FORMULA) is not None and not cell.findtext(_VALUE) and cell.get("t") != "str"
            for cell in islice(cells, _MOST_CELLS)
        )


def _cell_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        is_date = value.time() == time()
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


def _bands(rows: Sequence[_Row]) -> list[list[_Row]]:
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
    return bands


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
    return int(len(rows) > 1 and _names_columns(rows[0], rows[1:]))


def read_delimited(_path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a table with text lines above it, or as text if it is not a table."""
    text = decode(data)
    csv.field_size_limit(_LONGEST_CELL)
    rows = [[normal(cell) for cell in row] for row in _rows(text, _separator(text))]
    rows = [row for row in rows if any(row)]
    width = max((len(row) for row in rows), default=0)
    usual = Counter(sum(map(bool, row)) > 1 for row in rows).most_common(1)
    if width < 2 or not usual or not usual[0][0]:
        blocks = [Block("text", normal(line)) for line in text.splitlines() if line.strip()]
    else:
        start = _start(rows)
        text_blocks = [Block("text", " ".join(filter(None, row))) for row in rows[:start]]
        blocks = [*text_blocks, Block("table", table=_table(rows[start:], width))]
    return ParsedDocument(tuple(blocks), text)


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    """The rows; a line with an unclosed quote, which would swallow rows, is split without quoting."""
    lines = list(io.StringIO(text))
    counts = Counter(line.count(separator) for line in lines if line.strip())
    usual = max(counts, key=counts.__getitem__, default=0)
    start = 0
    while start < len(lines):
        reader = csv.reader(map(lines.__getitem__, range(start, len(lines))), delimiter=separator)
        begin = start
        for row in reader:
            end = start + reader.line_num
            if any(_holds_rows(cell, separator, usual) for cell in row) and not _is_closed(
                lines[begin:end], separator
            ):
                yield lines[begin].rstrip("\r\n").split(separator)
                start = begin + 1
                break
            yield row
            begin = end
        else:
            return


def _holds_rows(cell: str, separator: str, usual: int) -> bool:
    """Whether the cell's lines after the first are rows, with the ``usual`` number of separators."""
    _, *lines = cell.split("\n")
    rows = sum(line.count(separator) == usual for line in lines)
    return usual > 0 and rows >= max(_FEWEST_SWALLOWED, len(lines) / 2)


def _is_closed(lines: Sequence[str], separator: str) -> bool:
    """Whether each quote in a row is closed at the end of its cell."""
    try:
        return bool(list(csv.reader(lines, delimiter=separator, strict=True)))
    except csv.Error:
        return False


def _start(rows: Sequence[Sequence[str]]) -> int:
    """The table's first row: below lines of one cell and sparse rows that are above the columns' names."""
    start = next(index for index, row in enumerate(rows) if sum(map(bool, row)) > 1)
    usual = Counter(len(row) for row in rows).most_common(1)[0][0]
    full = next((index for index, row in enumerate(rows) if sum(map(bool, row)) >= usual), start)
    rows_above = rows[start:full]
    if (
        all(len(row) < usual or sum(map(bool, row)) <= usual / 2 for row in rows_above)
        and not any(is_value(cell) for cell in rows[full])
        and any(is_value(cell) for row in rows[full + 1 :] for cell in row)
    ):
        return full
    return start


def _table(rows: Sequence[Sequence[str]], width: int) -> Table:
    padded = [(*row, *[""] * (width - len(row))) for row in rows]
    head = int(len(padded) > 1 and _names_columns(padded[0], padded[1:]))
    return Table(tuple(padded[:head]), tuple(padded[head:]))


def _names_columns(row: Sequence[str], rows_below: Sequence[Sequence[str]]) -> bool:
    """Whether the row has no values, or only values that name columns: all different, with an empty
    corner or consecutive (months, weeks), above a first column that names the rows."""
    values = [cell for cell in row if is_value(cell)]
    if not values:
        return True
    if len({*row}) < len(row) or is_value(row[0]):
        return False
    if not row[0]:
        return all(other[0] for other in rows_below)
    numbers = [int(value) for value in values if value.isdecimal()]
    is_consecutive = numbers == list(range(numbers[0], numbers[0] + len(values))) if numbers else False
    return (
        is_consecutive
        and len(values) >= _FEWEST_NUMBERS
        and not any(is_value(other[0]) for other in rows_below)
    )


def _separator(text: str) -> str:
    """The separator that most often splits the first lines into the same number of cells."""
    lines = text.splitlines()[:_SAMPLE]

    def cells(lines: Iterable[str], sign: str) -> tuple[int, float]:
        counts = Counter(len(row) for row in csv.reader(lines, delimiter=sign) if row)
        cells, times = counts.most_common(1)[0] if counts else (1, 0)
        return cells, times / counts.total() if cells > 1 else 0.0

    def evenness(sign: str) -> tuple[float, int]:
        number, share = cells(lines, sign)
        if sign == ",":
            number, _ = cells((_COMMA_IN_NUMBER.sub("", line) for line in lines), sign)
        return share, number

    return max(_SEPARATORS, key=evenness)
