"""Reading tables without a model: rows, headings, and which column each cell stands under.

Works on a table as chunking writes it: caption lines, one header line, then rows; cells joined by
`` | ``; a line without `` | `` among the rows is a heading for those below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SEPARATOR = " | "


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table.

    Attributes:
        line: As it stands.
        label: The first cell that holds a letter, which is what a row is named by.
        cells: Its other cells that are not empty, with the column each stands under; the column is ""
            where the row has other columns than the header.
        heading: The line without cells that it stands below, "" if none.
    """

    line: str
    label: str
    cells: tuple[tuple[str, str], ...]
    heading: str

    def spelled(self) -> str:
        """``Services: 236.4 (2024), 214.9 (2023)``."""
        shown = [f"{cell} ({column})" if column else cell for column, cell in self.cells]
        return f"{self.label}: {', '.join(shown)}"


def with_headings(rows: Sequence[str], kept: Sequence[int]) -> list[str]:
    """The kept rows, each group under the heading row it stands below ("Year ended …:")."""
    chosen = set(kept)
    for index in kept:
        above = next((i for i in range(index, -1, -1) if SEPARATOR not in rows[i]), None)
        if above is not None:
            chosen.add(above)
    return [rows[i] for i in sorted(chosen)]


def parts(text: str) -> tuple[list[str], list[str]]:
    """A table's lines as head (caption and header line) and body."""
    lines = [line for line in text.splitlines() if line.strip()]
    header = next((i for i, line in enumerate(lines) if SEPARATOR in line), 0)
    return lines[: header + 1], lines[header + 1 :]


def rows(text: str) -> list[Row]:
    """The rows of a table, without its headings."""
    head, body = parts(text)
    header = _cells(head[-1]) if head and SEPARATOR in head[-1] else []
    found: list[Row] = []
    heading = ""
    for line in body:
        if SEPARATOR not in line:
            heading = line
            continue
        cells = _cells(line)
        # Empty cells at a row's end are not written.
        columns = header[: len(cells)] if len(cells) <= len(header) else [""] * len(cells)
        label = _label(cells) or cells[0]
        place = cells.index(label)
        pairs = tuple(
            (column, cell)
            for index, (column, cell) in enumerate(zip(columns, cells, strict=True))
            if cell.strip() and index != place
        )
        found.append(Row(line, label, pairs, heading))
    return found


def _cells(line: str) -> list[str]:
    """The cells of a line, whose white space at both ends is not written: the first may be empty."""
    return f" {line}".split(SEPARATOR) if line.startswith("| ") else line.split(SEPARATOR)


def _label(cells: Sequence[str]) -> str:
    # Only what stands before the label may be without letters: "2024 | 17.5 | n/a" has no label.
    return next((cell for cell in cells[:-1] if any(c.isalpha() for c in cell)), "")
