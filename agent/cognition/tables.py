"""Reading tables without a model: the rows a question names, and what their cells mean.

Works on a table as chunking writes it: caption lines, one header line, then rows; cells joined by
`` | ``; a line without `` | `` among the rows is a heading for those below it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent.cognition.quantities import years
from agent.retrieval.terms import terms

SEPARATOR = " | "
_COLUMN = 0.6  # share of a column's terms that a question must hold to name it


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

    def spelled(self, chosen: Sequence[tuple[str, str]] | None = None) -> str:
        """``Services: 236.4 (2024), 214.9 (2023)``, all cells or the chosen ones."""
        shown = [
            f"{cell} ({column})" if column else cell
            for column, cell in (self.cells if chosen is None else chosen)
        ]
        return f"{self.label}: {', '.join(shown)}"


def names(row: str, wanted: Collection[str]) -> bool:
    """True if ``wanted`` names the row: all terms of its label, or most of them if they are several.

    "Calder Bend" names ``Calder Bend, Ohio``; a label of digits only is named by nothing, and where a
    date or a number stands before the label, the label is what follows.
    """
    label_terms = set(terms(_label(row.split(SEPARATOR))))
    held = len(label_terms.intersection(wanted))
    return (
        SEPARATOR in row
        and bool(held)
        and (held == len(label_terms) or (held >= 2 and held >= 0.6 * len(label_terms)))
    )


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


def named_rows(text: str, question: str) -> list[Row]:
    """The rows of a table that ``question`` names by their labels."""
    wanted = set(terms(question))
    return [row for row in rows(text) if names(row.line, wanted)]


def asked_cells(row: Row, question: str) -> list[tuple[str, str]]:
    """The cells of ``row`` that ``question`` asks for by their columns; none if it names no column.

    Columns are told apart by the years asked for, and by their words: those that hold most of what the
    question says beside the row's own label. A year that is asked for and has no column is not
    replaced by its neighbour.
    """
    asked = years(question)
    wanted = set(terms(question)) - set(terms(row.label)) - asked
    scored: list[tuple[float, tuple[str, str]]] = []
    for column, cell in row.cells:
        dated = years(column)
        if asked and dated and not dated.intersection(asked):
            continue
        words = {term for term in terms(column) if term not in dated and term.isalpha()}
        share = len(words.intersection(wanted)) / len(words) if words else 0.0
        if share >= _COLUMN or (asked and dated):
            scored.append((share, (column, cell)))
    best = max((share for share, _ in scored), default=0.0)
    return [pair for share, pair in scored if share == best]


def _cells(line: str) -> list[str]:
    """The cells of a line, whose white space at both ends is not written: the first may be empty."""
    return f" {line}".split(SEPARATOR) if line.startswith("| ") else line.split(SEPARATOR)


def _label(cells: Sequence[str]) -> str:
    # Only what stands before the label may be without letters: "2024 | 17.5 | n/a" has no label.
    return next((cell for cell in cells[:-1] if any(c.isalpha() for c in cell)), "")
