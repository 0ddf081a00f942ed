"""From cells that lie somewhere to a table of rows and columns.

HTML cells lie on the columns of their spans, PDF segments on points of the page; both are intervals.
Columns are found by how the intervals overlap, so a currency sign, a closing parenthesis or a spacer
in a column of its own, a header over several columns and a number that is aligned to the right all
come out where a reader would see them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from agent.documents.cell_values import CLOSING, CURRENCY, is_value, is_year
from agent.documents.column_names import count_header_rows, name_columns
from agent.documents.columns import Cell, Row, find_columns, overlap, place
from agent.documents.document import Table
from agent.documents.prose import is_marker, joined

_WORD = re.compile(r"[^\W\d_]{2}")


def build_table(
    rows: Sequence[Sequence[Cell]],
    *,
    exact: bool,
    header_rows: int | None = None,
    caption: str = "",
) -> Table | None:
    """The table that ``rows`` show, or None where they make no more than one column or row.

    Args:
        rows: Cells from left to right, rows from top to bottom.
        exact: True where a header's stretch says which columns it names (spans); False where it is
            only where its ink lies, so that it may name the columns beside it too.
        header_rows: How many rows name the columns, where the format says so.
        caption: Text above the table that belongs to it.
    """
    heads = _heads(rows, header_rows) if exact else []
    joined = [cells for cells in (_with_signs_joined(row, heads) for row in rows) if cells]
    columns = find_columns(joined, exact=exact)
    if len(columns) < 2:
        return None
    placed = [place(row, columns) for row in joined]
    count = count_header_rows(placed) if header_rows is None else header_rows
    titles, header = name_columns(placed[:count], columns, exact=exact)
    body = placed[count:] if exact else _unwrapped(placed[count:])
    if not body:
        return None
    return Table(
        header=(header,) if any(header) else (),
        rows=tuple(tuple(row.texts.get(column, "") for column in range(len(columns))) for row in body),
        caption=" ".join(part for part in (caption, *titles) if part),
    )


def _heads(rows: Sequence[Sequence[Cell]], declared: int | None) -> list[Sequence[Cell]]:
    """The rows that may name columns: those ``declared`` to, or those above the first value."""
    if declared is not None:
        return list(rows[:declared])
    return list(takewhile(lambda row: not any(is_value(cell.text) for cell in row[1:]), rows))


def _named_apart(sign: Cell, value: Cell, heads: Sequence[Sequence[Cell]]) -> bool:
    """Whether a row of ``heads`` has a word over the sign, such as ``Unit``, and another over the value."""
    for row in heads:
        over_sign, over_value = (
            [cell for cell in row if cell.text.strip() and overlap(cell, (part.start, part.end))]
            for part in (sign, value)
        )
        in_words = any(_WORD.search(cell.text) for cell in over_sign)
        if in_words and over_value and not any(cell in over_value for cell in over_sign):
            return True
    return False


def _with_signs_joined(row: Sequence[Cell], heads: Sequence[Sequence[Cell]]) -> list[Cell]:
    """The row's cells with ``$`` joined to the number after it and ``)`` or ``%`` to the one before,
    unless ``heads`` name the two apart."""
    cells: list[Cell] = []
    sign: Cell | None = None
    for given in row:
        text = " ".join(given.text.split())
        if not text:
            continue
        cell = replace(given, text=text)
        if CURRENCY.fullmatch(text) and sign is None:
            sign = cell
            continue
        if sign is not None:
            if is_value(text) and not _named_apart(sign, cell, heads):
                cell = Cell(sign.text + text, sign.start, cell.end, cell.strong)
            else:
                cells.append(sign)
            sign = None
        if (
            cells
            and CLOSING.fullmatch(text)
            and is_value(cells[-1].text)
            and (text[0] in ")]" or not _named_apart(cell, cells[-1], heads))
        ):
            last = cells.pop()
            space = " " if text[0].isalpha() else ""
            cell = Cell(last.text + space + text, last.start, cell.end, last.strong)
        cells.append(cell)
    if sign is not None:
        cells.append(sign)
    return cells


def _unwrapped(rows: Sequence[Row]) -> list[Row]:
    """The rows with labels and cells that were broken over two lines joined again."""
    whole: list[Row] = []
    for row in rows:
        if whole and _continues(whole[-1], row):
            whole[-1] = _merged(whole[-1], row)
        else:
            whole.append(row)
    return whole


def _continues(above: Row, row: Row) -> bool:
    """Whether ``row`` is the rest of ``above``."""
    if not row.label:
        in_words = not any(is_value(text) or is_year(text) for text in row.others)
        return bool(above.others) and in_words
    goes_on = row.label[0] == "$" or row.label.lstrip("(")[:1].islower()
    if not goes_on or row.label.endswith(":") or is_marker(row.label.split()[0]):
        return False
    if row.others:
        return not above.others and not above.label.endswith((":", "."))
    return bool(above.others)


def _merged(upper: Row, lower: Row) -> Row:
    texts = dict(upper.texts)
    for column, text in lower.texts.items():
        texts[column] = joined([texts[column], text]) if column in texts else text
    return Row(texts, (*upper.cells, *lower.cells))
