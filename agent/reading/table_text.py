"""A table as lines that a small language model reads reliably, whole or in parts.

A line for each row, cells joined by `` | ``, one header line above: the form that needs fewest tokens
and in which a 1.5B model finds the number under a column's name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent.reading.document import Table

_LONGEST_LABEL = 12  # words of a row's first cell worth repeating above the rest of a cut row


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows of a table beneath its caption and header; ``repeated`` leading characters are not
    the part's own but stood in an earlier one."""

    text: str
    repeated: int


@dataclass(frozen=True, slots=True)
class _Row:
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
        cut: Cuts a row that is too long by itself into pieces of at most so many tokens.
    """
    head = [line for line in (caption, *(row_text(row) for row in table.header)) if line]
    rows = list(_rows(table, count_tokens))
    fixed = sum(count_tokens(line) for line in head)
    room = max(limit - fixed, limit // 3)
    whole = "\n".join([*head, *(row.line for row in rows)])
    if fixed + sum(row.tokens for row in rows) <= limit:
        return [TablePart(whole, 0)]
    parts: list[TablePart] = []
    for batch in _batches(rows, room):
        lead = list(head)
        if parts and batch[0].section and not batch[0].names_section:
            lead.append(batch[0].section)
        for index, text in enumerate(_within(batch, room, cut)):
            again = [*lead, batch[0].label] if index and batch[0].label else lead
            above = "\n".join(again)
            joined = f"{above}\n{text}" if above else text
            parts.append(TablePart(joined, len(joined) - len(text) if parts else 0))
    return parts


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


def _within(batch: Sequence[_Row], room: int, cut: Callable[[str, int], list[str]]) -> list[str]:
    """The lines of a batch as one text, or, of a single row that is too long, in pieces."""
    if len(batch) == 1 and batch[0].tokens > room:
        return cut(batch[0].line, room)
    return ["\n".join(row.line for row in batch)]
