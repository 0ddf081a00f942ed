"""A stored table as columns that stand beneath one another."""

from __future__ import annotations

import re

from rich.cells import cell_len

_NUMBER = re.compile(r"[^\w]*[\d.,]+[^\w]*|[^\w]*|n/?a", re.IGNORECASE)
_GAP = 2  # columns between two cells


def aligned(text: str, width: int) -> str:
    """``text``, a line for each row with cells joined by `` | ``, aligned; as it is if that is too wide.

    Columns of figures are aligned right. Lines without cells, such as the caption, stay as they are.
    """
    lines = text.splitlines()
    rows = [[cell.strip() for cell in line.split(" | ")] if " | " in line else None for line in lines]
    full = [row for row in rows if row]
    count = max((len(row) for row in full), default=0)
    columns = [[row[i] for row in full if len(row) > i] for i in range(count)]
    widths = [max(cell_len(cell) for cell in column) for column in columns]
    if not count or sum(widths) + _GAP * (count - 1) > width:
        return text
    # The first rows name the columns, so not every cell of a column of figures is one.
    right = [
        i > 0 and 2 * sum(bool(_NUMBER.fullmatch(cell)) for cell in column) >= len(column)
        for i, column in enumerate(columns)
    ]

    def put(cell: str, i: int) -> str:
        room = " " * (widths[i] - cell_len(cell))
        return room + cell if right[i] else cell + room

    return "\n".join(
        line if row is None else (" " * _GAP).join(put(cell, i) for i, cell in enumerate(row)).rstrip()
        for line, row in zip(lines, rows, strict=True)
    )
