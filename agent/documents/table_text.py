"""A table as lines that a small language model reads reliably, whole or in parts.

One line for each row, cells joined by `` | ``, below one header line: this form needs the fewest tokens,
and a 1.5B model can find the number under a column's name in it. A long table is split between rows; a
header or row that is too long is split between columns, so that each cell keeps its column's name.

`rows` reads such text back, with the column of each cell.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agent.documents.document import Table
from agent.text.vocabulary import vocabulary
from models.token_estimate import estimate, split

SEPARATOR = " | "
_Item = TypeVar("_Item")
_TABLE_TOKENS = 300  # a longer table is split
_LONGEST_LABEL = 12  # words of a row's first cell that may be repeated above the rest of a split row
_AMOUNT = re.compile(r"\d[.,]\d\d(?!\d)")
_BARE_NUMBER = re.compile(r"\d[\d.,'’ ]*")
_NEARLY_FULL = 0.8
_LABEL_TOKENS = 24  # tokens of a row's first cell to repeat beside the cells of other columns


@dataclass(frozen=True, slots=True)
class _Line:
    cells: tuple[str, ...]
    line: str
    tokens: int
    names_section: bool
    section: str
    label: str


def row_text(cells: Sequence[str]) -> str:
    """One row as a line, without empty cells at its end."""
    filled = list(cells)
    while filled and not filled[-1]:
        filled.pop()
    return SEPARATOR.join(filled).strip()


def table_parts(table: Table, caption: str) -> list[tuple[str, int]]:
    """The table in as few parts of about equal length as possible, each below its caption and header.

    ``caption`` is the text above the table that says what it is about.

    Returns:
        The text of each part, and how many of its leading characters repeat an earlier part.
    """
    head = _head(caption, table)
    rows = list(_lines(table))
    if sum(map(estimate, head)) + sum(row.tokens for row in rows) <= _TABLE_TOKENS:
        return [("\n".join([*head, *(row.line for row in rows)]), 0)]
    cutter = _Cutter(caption)
    weights = _weights(table.header)
    room = _TABLE_TOKENS // 2
    for part in _split_columns(table, weights, room) if sum(weights) > room else [table]:
        cutter.add(part)
    return cutter.parts


def _head(caption: str, table: Table) -> list[str]:
    return [line for line in (caption, *(row_text(row) for row in table.header)) if line]


@dataclass(frozen=True, slots=True)
class _Cutter:
    """The parts of a table so far, and the columns whose names are in one of them."""

    caption: str
    parts: list[tuple[str, int]] = field(default_factory=list)
    named_columns: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, table: Table) -> None:
        """Make parts of the table's rows, each below its header."""
        room = self._room(table)
        lines = list(_lines(table))
        for batch in shares(lines, lambda row: row.tokens, room, heads=lambda row: row.names_section):
            *rows_above, row = batch
            if row.tokens <= room:
                rows_above = batch
            if rows_above:
                first = rows_above[0]
                section = first.section if self.parts and not first.names_section else ""
                self._put(table, section, ["\n".join(line.line for line in rows_above)])
            if row.tokens > room:
                self._add_long(table, row)

    def _add_long(self, table: Table, row: _Line) -> None:
        """Split a row that is too long by itself: between columns, if it has several."""
        section = row.section if self.parts and not row.names_section else ""
        filled = [0, *(column for column, cell in enumerate(row.cells) if column and cell)]
        filled_columns = _select_columns(Table(table.header, (row.cells,)), filled)
        room = max(_TABLE_TOKENS - estimate(self.caption), _TABLE_TOKENS // 3)
        weights = _weights([*filled_columns.header, *filled_columns.rows])
        tables = _split_columns(filled_columns, weights, room)
        if len(tables) == 1:
            self._put(table, section, split(row.line, self._room(table)), row.label)
            return
        repeated_label = ""
        for part in tables:
            room = self._room(part)
            for line in _lines(part):
                texts = [line.line] if line.tokens <= room else split(line.line, room)
                self._put(part, section, texts, line.label, repeated_label)
                repeated_label = f"{line.cells[0]}{SEPARATOR}"

    def _room(self, table: Table) -> int:
        """The maximum number of tokens of a part's rows."""
        return max(_TABLE_TOKENS - sum(map(estimate, _head(self.caption, table))), _TABLE_TOKENS // 3)

    def _put(
        self, table: Table, section: str, texts: Sequence[str], label: str = "", repeated_label: str = ""
    ) -> None:
        """Add a part for each text, below the table's header; from the second on also below ``label``.

        ``repeated_label`` is the beginning of the first text that repeats an earlier part.
        """
        columns = set(zip(*table.header, strict=True))
        for index, text in enumerate(texts):
            lead_lines = [*_head(self.caption, table), section, label if index else ""]
            lead = "".join(f"{line}\n" for line in lead_lines if line)
            if not self.parts:
                repeated = 0
            elif columns <= self.named_columns:
                repeated = len(lead) + (
                    len(repeated_label) if not index and text.startswith(repeated_label) else 0
                )
            else:
                repeated = len(self.caption) + 1 if self.caption else 0
            self.parts.append((lead + text, repeated))
            self.named_columns.update(columns)


def _weights(rows: Sequence[Sequence[str]]) -> list[int]:
    return [sum(estimate(cell) + 1 for cell in column) for column in zip(*rows, strict=True)]


def _split_columns(table: Table, weights: Sequence[int], room: int) -> list[Table]:
    """The table as groups of columns of about ``room`` tokens, with the rows' labels; columns that are too
    long by themselves come last."""
    labels = min(weights[0], room // 2)
    room_left = room - labels
    long_columns = [column for column, weight in enumerate(weights) if column and weight > room_left]
    short_columns = [column for column in range(1, len(weights)) if column not in long_columns]
    groups = [
        *shares(short_columns, weights.__getitem__, room_left),
        *([column] for column in long_columns),
    ]
    if weights[0] > labels:
        groups.append([0])
    elif groups:
        groups[0].insert(0, 0)
    return [table] if len(groups) < 2 else [_select_columns(table, group) for group in groups]


def _select_columns(table: Table, columns: Sequence[int]) -> Table:
    """Some columns of the table, beside the beginnings of the rows' labels, without empty rows."""

    def cells(row: Sequence[str]) -> tuple[str, ...]:
        values = tuple(row[column] for column in columns)
        return values if 0 in columns else (next(iter(split(row[0], _LABEL_TOKENS)), ""), *values)

    return Table(
        tuple(cells(row) for row in table.header),
        tuple(cells(row) for row in table.rows if any(row[c] for c in columns) or not any(row[1:])),
    )


def _lines(table: Table) -> Iterator[_Line]:
    section = ""
    for cells in table.rows:
        line = row_text(cells)
        if not line:
            continue
        label = cells[0]
        names_section = bool(label) and not any(cells[1:])
        if names_section:
            section = label
        is_short = len(label.split()) <= _LONGEST_LABEL and not names_section
        yield _Line(cells, line, estimate(line) + 1, names_section, section, label if is_short else "")
        if label.casefold().startswith("total"):
            section = ""


def shares(
    items: Sequence[_Item],
    weight: Callable[[_Item], int],
    room: int,
    *,
    slack: float = 1.0,
    heads: Callable[[_Item], bool] = lambda _item: False,
    apart: Callable[[_Item, _Item], bool] = lambda _last, _item: False,
) -> Iterator[list[_Item]]:
    """Groups of neighbours, of about equal weight and at most ``room`` times ``slack``.

    None ends with one that ``heads`` the next ones; one that is nearly full ends between two that are
    ``apart``.
    """
    total = sum(map(weight, items))
    most = room * slack
    share = total if total <= most else total / math.ceil(total / max(1, room))
    group: list[_Item] = []
    filled = 0
    for item in items:
        with_item = filled + weight(item)
        if group and (
            with_item > most
            or with_item - share > weight(item) / 2
            or (apart(group[-1], item) and filled > _NEARLY_FULL * share and with_item > share)
        ):
            headings: list[_Item] = []
            while len(group) > 1 and heads(group[-1]):
                headings.insert(0, group.pop())
            yield group
            group, filled = headings, sum(map(weight, headings))
        group.append(item)
        filled += weight(item)
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    line: str  # the row as written
    label: str  # the first cell that contains a letter: the name of the row
    cells: tuple[tuple[str, str], ...]
    """The other cells that are not empty, with the column of each; the column is "" if the row has more
    cells than the header."""

    def spelled(self) -> str:
        """``Services: 236.4 (2024), 214.9 (2023)``."""
        values = [f"{cell} ({column})" if column else cell for column, cell in self.cells]
        return f"{self.label}: {', '.join(values)}"


def with_headings(rows: Sequence[str], indices: Sequence[int]) -> list[str]:
    """The rows at ``indices``, each group under its heading row ("Year ended …:")."""
    selected = set(indices)
    for index in indices:
        heading_index = next((i for i in range(index, -1, -1) if SEPARATOR not in rows[i]), None)
        if heading_index is not None:
            selected.add(heading_index)
    return [rows[i] for i in sorted(selected)]


def parts(text: str) -> tuple[list[str], list[str]]:
    """A table's lines as head (caption and header line, if there is one) and body."""
    lines = [line for line in text.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if SEPARATOR in line), 0)
    end = first if _is_row(lines[first:]) else first + 1
    return lines[:end], lines[end:]


def _is_row(lines: Sequence[str]) -> bool:
    """Whether the first line is no header: as in a receipt, one of its columns has only amounts."""
    table = [row_cells(line) for line in lines if SEPARATOR in line]
    columns = zip(*table, strict=False) if len(table) > 1 else ()
    return any(all(map(_AMOUNT.search, column)) for column in columns)


def rows(text: str) -> list[Row]:
    """The rows of a table, without its headings."""
    head, body = parts(text)
    header = _columns(head)
    table_rows: list[Row] = []
    for line in body:
        if SEPARATOR not in line:
            continue
        cells = row_cells(line)
        # Empty cells at a row's end are not written.
        columns = header[: len(cells)] if len(cells) <= len(header) else [""] * len(cells)
        # Only cells before the label may be without letters: "2024 | 17.5 | n/a" has no label.
        label = next((cell for cell in cells[:-1] if any(c.isalpha() for c in cell)), cells[0])
        label_index = cells.index(label)
        pairs = tuple(
            (column, cell)
            for index, (column, cell) in enumerate(zip(columns, cells, strict=True))
            if cell.strip() and index != label_index
        )
        table_rows.append(Row(line, label, pairs))
    return table_rows


def priced(text: str) -> str:
    """A table with the currency sign of a column's heading before its bare numbers: "Price (£)", "£110"."""
    head, body = parts(text)
    signs = [next((c for c in column if unicodedata.category(c) == "Sc"), "") for column in _columns(head)]
    if not any(signs):
        return text
    priced_rows = []
    for line in body:
        cells = row_cells(line)
        if len(cells) <= len(signs):
            for index, (sign, cell) in enumerate(zip(signs, cells, strict=False)):
                cells[index] = f"{sign}{cell}" if _BARE_NUMBER.fullmatch(cell) else cell
        priced_rows.append(SEPARATOR.join(cells))
    return "\n".join([*head, *priced_rows])


def figure(column: str, cell: str) -> tuple[str, str]:
    """A column and its bare number, the sign or unit in the column's brackets beside it: "Price", "£3"."""
    name, _, unit = column.removesuffix(")").rpartition(" (")
    if name and _BARE_NUMBER.fullmatch(cell):
        if len(unit) == 1 and unicodedata.category(unit) == "Sc":
            return name, f"{unit}{cell}"
        words = vocabulary("")
        if unit in words.signs or unit.casefold() in words.units:
            return name, f"{cell} {unit}"
    return column, cell


def _columns(head: Sequence[str]) -> list[str]:
    """The names of the columns in a table's head, none if it has no header line."""
    return row_cells(head[-1]) if head and SEPARATOR in head[-1] else []


def row_cells(line: str) -> list[str]:
    """The cells of a line without white space at its ends; the first cell may be empty."""
    return f" {line}".split(SEPARATOR) if line.startswith("| ") else line.split(SEPARATOR)
