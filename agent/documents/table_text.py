"""A table as lines that a small language model reads reliably, whole or in parts.

A line for each row, cells joined by `` | ``, one header line above: the form that needs fewest tokens
and in which a 1.5B model finds the number under a column's name. What is too long is cut between
rows; a header, or one row, that is too long by itself between columns, so that each keeps its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from agent.documents.document import Table

_LONGEST_LABEL = 12  # words of a row's first cell worth repeating above the rest of a cut row
_LABEL = 24  # tokens of it that are repeated beside the cells of other columns


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows of a table beneath its caption and header; ``repeated`` leading characters are not
    the part's own but stood in an earlier one."""

    text: str
    repeated: int


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[str, ...]
    line: str
    tokens: int
    names_section: bool
    section: str
    label: str


def row_text(cells: Sequence[str]) -> str:
    """One row as a line; a row of one filled first cell, such as a section's name, is that cell."""
    filled = list(cells)
    while filled and not filled[-1]:
        filled.pop()
    return " | ".join(filled).strip()


def table_parts(
    table: Table,
    caption: str,
    limit: int,
    count_tokens: Callable[[str], int],
    cut: Callable[[str, int], list[str]],
) -> list[TablePart]:
    """The table in as few parts of about equal length as ``limit`` tokens allow.

    Args:
        table: What a reader found.
        caption: What stands above it and says what it is about.
        limit: How many tokens a part should have at most.
        count_tokens: Counts tokens.
        cut: Cuts a text that is too long by itself into pieces of at most so many tokens.
    """
    head = _head(caption, table)
    rows = list(_rows(table, count_tokens))
    if sum(map(count_tokens, head)) + sum(row.tokens for row in rows) <= limit:
        return [TablePart("\n".join([*head, *(row.line for row in rows)]), 0)]
    cutter = _Cutter(caption, limit, count_tokens, cut)
    names = cutter.weights(table.header)
    for narrow in cutter.narrowed(table, names, limit // 2) if sum(names) > limit // 2 else [table]:
        cutter.add(narrow)
    return cutter.parts


def _head(caption: str, table: Table) -> list[str]:
    return [line for line in (caption, *(row_text(row) for row in table.header)) if line]


@dataclass(frozen=True, slots=True)
class _Cutter:
    """Parts of a table made so far, and the columns whose names have stood in one of them."""

    caption: str
    limit: int
    count: Callable[[str], int]
    cut: Callable[[str, int], list[str]]
    parts: list[TablePart] = field(default_factory=list)
    named: set[tuple[str, ...]] = field(default_factory=set)

    def weights(self, rows: Sequence[Sequence[str]]) -> list[int]:
        """How many tokens the cells of each column have together."""
        return [sum(self.count(cell) + 1 for cell in column) for column in zip(*rows, strict=True)]

    def narrowed(self, table: Table, weights: Sequence[int], room: int) -> list[Table]:
        """A few columns of the table at a time, of about ``room`` tokens, with the rows' labels; what
        is too long even alone comes last."""
        labels = min(weights[0], room // 2)
        left = room - labels
        long = [column for column, weight in enumerate(weights) if column and weight > left]
        short = [column for column in range(1, len(weights)) if column not in long]
        groups = [
            [short[number] for number in share]
            for share in _shares([weights[column] for column in short], left)
        ]
        groups += [[column] for column in long]
        if weights[0] > labels:
            groups.append([0])
        elif groups:
            groups[0].insert(0, 0)
        return [table] if len(groups) < 2 else [self._chosen(table, group) for group in groups]

    def _chosen(self, table: Table, columns: Sequence[int]) -> Table:
        """Some columns of the table, after the beginning of the rows' labels if these are not among
        them, and the rows that have something in them."""

        def cells(row: Sequence[str]) -> tuple[str, ...]:
            chosen = tuple(row[column] for column in columns)
            return chosen if 0 in columns else (next(iter(self.cut(row[0], _LABEL)), ""), *chosen)

        return Table(
            tuple(cells(row) for row in table.header),
            tuple(cells(row) for row in table.rows if any(row[c] for c in columns) or not any(row[1:])),
        )

    def add(self, table: Table) -> None:
        """Make parts of the table's rows, each beneath its header."""
        room = self._room(table)
        for batch in _batches(list(_rows(table, self.count)), room):
            *above, row = batch
            if row.tokens <= room:
                above = batch
            if above:
                first = above[0]
                section = first.section if self.parts and not first.names_section else ""
                self._put(table, section, ["\n".join(one.line for one in above)])
            if row.tokens > room:
                self._add_long(table, row)

    def _add_long(self, table: Table, row: _Row) -> None:
        """Make parts of a row that is too long by itself: of some columns each, if it has a few."""
        section = row.section if self.parts and not row.names_section else ""
        filled = [0, *(column for column, cell in enumerate(row.cells) if column and cell)]
        alone = self._chosen(Table(table.header, (row.cells,)), filled)
        room = max(self.limit - self.count(self.caption), self.limit // 3)
        narrow = self.narrowed(alone, self.weights([*alone.header, *alone.rows]), room)
        if len(narrow) == 1:
            self._put(table, section, self.cut(row.line, self._room(table)), row.label)
            return
        again = ""
        for columns in narrow:
            room = self._room(columns)
            for part in _rows(columns, self.count):
                texts = [part.line] if part.tokens <= room else self.cut(part.line, room)
                self._put(columns, section, texts, part.label, again)
                again = f"{part.cells[0]} | "

    def _room(self, table: Table) -> int:
        """How many tokens a part's rows may have."""
        return max(self.limit - sum(map(self.count, _head(self.caption, table))), self.limit // 3)

    def _put(
        self, table: Table, section: str, texts: Sequence[str], label: str = "", again: str = ""
    ) -> None:
        """A part for each text, beneath the table's header; from the second on beneath ``label`` too.

        ``again`` is what the first text begins with that stood in an earlier part.
        """
        columns = set(zip(*table.header, strict=True))
        for index, text in enumerate(texts):
            above = [*_head(self.caption, table), section, label if index else ""]
            lead = "".join(f"{line}\n" for line in above if line)
            if not self.parts:
                repeated = 0
            elif columns <= self.named:
                repeated = len(lead) + (len(again) if not index and text.startswith(again) else 0)
            else:
                repeated = len(self.caption) + 1 if self.caption else 0
            self.parts.append(TablePart(lead + text, repeated))
            self.named.update(columns)


def _shares(weights: Sequence[int], room: int) -> Iterator[list[int]]:
    """Neighbours, by their numbers, about equally heavy together and no heavier than ``room``."""
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


def _rows(table: Table, count_tokens: Callable[[str], int]) -> Iterator[_Row]:
    section = ""
    for cells in table.rows:
        line = row_text(cells)
        if not line:
            continue
        label = cells[0]
        names_section = bool(label) and not any(cells[1:])
        if names_section:
            section = label
        yield _Row(
            cells,
            line,
            count_tokens(line) + 1,
            names_section,
            section,
            label if len(label.split()) <= _LONGEST_LABEL and not names_section else "",
        )
        if label.casefold().startswith("total"):
            section = ""


def _batches(rows: Sequence[_Row], room: int) -> Iterator[list[_Row]]:
    """Rows that go together: about equal shares, none ending with the name of a section."""
    left = sum(row.tokens for row in rows)
    share = left / max(1, math.ceil(left / room))
    batch: list[_Row] = []
    filled = 0
    for row in rows:
        full = filled + row.tokens > room or filled + row.tokens / 2 > share
        if batch and full:
            held: list[_Row] = []
            while len(batch) > 1 and batch[-1].names_section:
                held.insert(0, batch.pop())
            yield batch
            batch = held
            filled = sum(other.tokens for other in held)
        batch.append(row)
        filled += row.tokens
    if batch:
        yield batch
