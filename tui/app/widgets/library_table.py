"""A stored table as columns that stand beneath one another."""

from __future__ import annotations

import re
from textwrap import wrap

from rich.cells import cell_len

_NUMBER = re.compile(r"[^\w]*[\d.,]+[^\w]*|[^\w]*|n/?a", re.IGNORECASE)
_GAP = 2  # columns between two cells


def aligned(text: str, width: int) -> str:
    """``text``, a line for each row with cells joined by `` | ``, aligned; as it is if that is too wide.

    Columns of figures are aligned right. The names of columns go over several lines where they are longer
    than what stands beneath. Lines without cells, such as the caption, stay as they are.
    """
    lines = text.splitlines()
    rows = [[cell.strip() for cell in line.split(" | ")] if " | " in line else None for line in lines]
    full = [row for row in rows if row]
    first = next((i for i, row in enumerate(full) if any(map(_is_number, row[1:]))), 0)
    names, body = full[:first], full[first:]
    count = max((len(row) for row in full), default=0)
    widths: list[int] = []
    right: list[bool] = []
    for i in range(count):
        held = [row[i] for row in body if len(row) > i]
        words = [word for row in names if len(row) > i for word in row[i].split()]
        widths.append(max(map(cell_len, [*held, *words]), default=0))
        right.append(i > 0 and 2 * sum(map(_is_number, held)) >= len(held))
    if not count or sum(widths) + _GAP * (count - 1) > width:
        return text

    def put(row: list[str]) -> str:
        cells = (
            " " * (widths[i] - cell_len(cell)) + cell
            if right[i]
            else cell + " " * (widths[i] - cell_len(cell))
            for i, cell in enumerate(row)
        )
        return (" " * _GAP).join(cells).rstrip()

    shown: list[str] = []
    for line, row in zip(lines, rows, strict=True):
        if row is None:
            shown.append(line)
        elif any(row is name for name in names):
            folded = [wrap(cell, widths[i]) if widths[i] else [] for i, cell in enumerate(row)]
            height = max(map(len, folded))
            stacked = [[""] * (height - len(cell)) + cell for cell in folded]
            shown += [put(list(across)) for across in zip(*stacked, strict=True)]
        else:
            shown.append(put(row))
    return "\n".join(shown)


def _is_number(cell: str) -> bool:
    return bool(cell) and _NUMBER.fullmatch(cell) is not None
