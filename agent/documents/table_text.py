"""A table as lines that a small language model reads reliably, whole or in parts.

One line for each row, cells joined by `` | ``, below one header line: this form needs the fewest tokens,
and a 1.5B model can find the number under a column's name in it. A long table is split between rows; a
header or row that is too long is split between columns, so that each cell keeps its column's name.

`rows` reads such text back: the column of each cell, and the heading line above each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from agent.documents.document import Table

SEPARATOR = " | "
_LONGEST_LABEL = 12  # words of a row's first cell that may be repeated above the rest of a split row
_LABEL_TOKENS = 24  # tokens of a row's first cell to repeat beside the cells of other columns


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows of a table below its caption and header; the first ``repeated`` characters repeat an
    earlier part."""

    text: str
    repeated: int


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


def table_parts(
    table: Table,
    caption: str,
    limit: int,
    count_tokens: Callable[[str], int],
    split: Callable[[str, int], list[str]],
) -> list[TablePart]:
    """The table in as few parts of about equal length as ``limit`` tokens allow.

    ``caption`` is the text above the table that says what it is about; ``split`` splits a text into pieces
    of at most the given number of tokens.
    """
    head = _head(caption, table)
    rows = list(_lines(table, count_tokens))
    if sum(map(count_tokens, head)) + sum(row.tokens for row in rows) <= limit:
        return [TablePart("\n".join([*head, *(row.line for row in rows)]), 0)]
    cutter = _Cutter(caption, limit, count_tokens, split)
    header_weights = cutter.weights(table.header)
    for part in (
        cutter.split_columns(table, header_weights, limit // 2)
        if sum(header_weights) > limit // 2
        else [table]
    ):
        cutter.add(part)
    return cutter.parts


def _head(caption: str, table: Table) -> list[str]:
    return [line for line in (caption, *(row_text(row) for row in table.header)) if line]


@dataclass(frozen=True, slots=True)
class _Cutter:
    """The parts of a table so far, and the columns whose names are in one of them."""

    caption: str
    limit: int
    count: Callable[[str], int]
    split: Callable[[str, int], list[str]]
    parts: list[TablePart] = field(default_factory=list)
    named_columns: set[tuple[str, ...]] = field(default_factory=set)

    def weights(self, rows: Sequence[Sequence[str]]) -> list[int]:
        """The tokens of each column."""
        return [sum(self.count(cell) + 1 for cell in column) for column in zip(*rows, strict=True)]

    def split_columns(self, table: Table, weights: Sequence[int], room: int) -> list[Table]:
        """The table as groups of columns of about ``room`` tokens, with the rows' labels; columns that
        are too long by themselves come last."""
        labels = min(weights[0], room // 2)
        room_left = room - labels
        long_columns = [column for column, weight in enumerate(weights) if column and weight > room_left]
        short_columns = [column for column in range(1, len(weights)) if column not in long_columns]
        groups = [
            [short_columns[number] for number in share]
            for share in _shares([weights[column] for column in short_columns], room_left)
        ]
        groups += [[column] for column in long_columns]
        if weights[0] > labels:
            groups.append([0])
        elif groups:
            groups[0].insert(0, 0)
        return [table] if len(groups) < 2 else [self._select_columns(table, group) for group in groups]

    def _select_columns(self, table: Table, columns: Sequence[int]) -> Table:
        """Some columns of the table, beside the beginnings of the rows' labels, without empty rows."""

        def cells(row: Sequence[str]) -> tuple[str, ...]:
            values = tuple(row[column] for column in columns)
            return values if 0 in columns else (next(iter(self.split(row[0], _LABEL_TOKENS)), ""), *values)

        return Table(
            tuple(cells(row) for row in table.header),
            tuple(cells(row) for row in table.rows if any(row[c] for c in columns) or not any(row[1:])),
        )

    def add(self, table: Table) -> None:
        """Make parts of the table's rows, each below its header."""
        room = self._room(table)
        for batch in _batches(list(_lines(table, self.count)), room):
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
        filled_columns = self._select_columns(Table(table.header, (row.cells,)), filled)
        room = max(self.limit - self.count(self.caption), self.limit // 3)
        tables = self.split_columns(
            filled_columns, self.weights([*filled_columns.header, *filled_columns.rows]), room
        )
        if len(tables) == 1:
            self._put(table, section, self.split(row.line, self._room(table)), row.label)
            return
        repeated_label = ""
        for part in tables:
            room = self._room(part)
            for line in _lines(part, self.count):
                texts = [line.line] if line.tokens <= room else self.split(line.line, room)
                self._put(part, section, texts, line.label, repeated_label)
                repeated_label = f"{line.cells[0]}{SEPARATOR}"

    def _room(self, table: Table) -> int:
        """The maximum number of tokens of a part's rows."""
        return max(self.limit - sum(map(self.count, _head(self.caption, table))), self.limit // 3)

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
            self.parts.append(TablePart(lead + text, repeated))
            self.named_columns.update(columns)


def _shares(weights: Sequence[int], room: int) -> Iterator[list[int]]:
    """Groups of neighbouring indices, of about equal weight and at most ``room``."""
    total = sum(weights)
    share = total / max(1, math.ceil(total / max(1, room)))
    group: list[int] = []
    filled = 0
    for number, weight in enumerate(weights):
        if group and (filled + weight > room or filled + weight / 2 > share):
            yield group
            group, filled = [], 0
        group.append(number)
        filled += weight
    if group:
        yield group


def _lines(table: Table, count_tokens: Callable[[str], int]) -> Iterator[_Line]:
    section = ""
    for cells in table.rows:
        line = row_text(cells)
        if not line:
            continue
        label = cells[0]
        names_section = bool(label) and not any(cells[1:])
        if names_section:
            section = label
        yield _Line(
            cells,
            line,
            count_tokens(line) + 1,
            names_section,
            section,
            label if len(label.split()) <= _LONGEST_LABEL and not names_section else "",
        )
        if label.casefold().startswith("total"):
            section = ""


def _batches(rows: Sequence[_Line], room: int) -> Iterator[list[_Line]]:
    """Batches of rows of about equal length, none ending with the name of a section."""
    total = sum(row.tokens for row in rows)
    share = total / max(1, math.ceil(total / room))
    batch: list[_Line] = []
    filled = 0
    for row in rows:
        is_full = filled + row.tokens > room or filled + row.tokens / 2 > share
        if batch and is_full:
            headings: list[_Line] = []
            while len(batch) > 1 and batch[-1].names_section:
                headings.insert(0, batch.pop())
            yield batch
            batch = headings
            filled = sum(heading.tokens for heading in headings)
        batch.append(row)
        filled += row.tokens
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table.

    Attributes:
        line: The row as written.
        label: The first cell that contains a letter: the name of the row.
        cells: The other cells that are not empty, with the column of each; the column is "" if the row
            has more cells than the header.
        heading: The line without cells above the row, "" if none.
    """

    line: str
    label: str
    cells: tuple[tuple[str, str], ...]
    heading: str

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
    """A table's lines as head (caption and header line) and body."""
    lines = [line for line in text.splitlines() if line.strip()]
    header = next((i for i, line in enumerate(lines) if SEPARATOR in line), 0)
    return lines[: header + 1], lines[header + 1 :]


def rows(text: str) -> list[Row]:
    """The rows of a table, without its headings."""
    head, body = parts(text)
    header = _cells(head[-1]) if head and SEPARATOR in head[-1] else []
    table_rows: list[Row] = []
    heading = ""
    for line in body:
        if SEPARATOR not in line:
            heading = line
            continue
        cells = _cells(line)
        # Empty cells at a row's end are not written.
        columns = header[: len(cells)] if len(cells) <= len(header) else [""] * len(cells)
        label = _label(cells) or cells[0]
        label_index = cells.index(label)
        pairs = tuple(
            (column, cell)
            for index, (column, cell) in enumerate(zip(columns, cells, strict=True))
            if cell.strip() and index != label_index
        )
        table_rows.append(Row(line, label, pairs, heading))
    return table_rows


def _cells(line: str) -> list[str]:
    """The cells of a line without white space at its ends; the first cell may be empty."""
    return f" {line}".split(SEPARATOR) if line.startswith("| ") else line.split(SEPARATOR)


def _label(cells: Sequence[str]) -> str:
    # Only cells before the label may be without letters: "2024 | 17.5 | n/a" has no label.
    return next((cell for cell in cells[:-1] if any(c.isalpha() for c in cell)), "")
