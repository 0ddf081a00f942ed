"""HTML tables: spans resolved to columns, and tables that only lay out text told from real ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.documents.columns import Cell
from agent.documents.document import Table
from agent.documents.formats.html_style import common_look, is_hidden, look_of, runs
from agent.documents.grid import build_table
from agent.documents.outline import Look
from agent.documents.prose import is_marker, normal

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MOST_SPAN = 1000  # what browsers clamp a colspan to
_LONGEST_REPEATED = 8  # words of a cell over several rows that are repeated on each


def read_table(element: HtmlElement, look: Look) -> Table | list[str] | None:
    """What a ``table`` element holds.

    Returns:
        The table; or its caption and the text of its rows, where it only sets a bullet, a number or a
        label before a text; or None, where it lays out a page and its cells are to be read one after
        the other.
    """
    if any(part is not element and not is_hidden(part) for part in element.iter("table")):
        return None
    rows = list(_rows(element, look))
    filled = [row for row in rows if any(cell.text for cell in row)]
    texts = [[cell.text for cell in row if cell.text] for row in filled]
    if _lays_out(element):
        return None
    caption = next((normal(_text(part, look)) for part in element.iter("caption")), "")
    lines = [*([caption] if caption else []), *(normal(" ".join(row)) for row in texts)]
    if len(filled) <= 1 or all(len(row) == 1 or (len(row) == 2 and is_marker(row[0])) for row in texts):
        return lines
    table = build_table(filled, exact=True, header_rows=_declared_header(element), caption=caption)
    return table or lines


def _lays_out(element: HtmlElement) -> bool:
    """Whether some cell holds paragraphs rather than a value or a label."""
    return any(
        sum(1 for part in cell.iter("p", "li", "h1", "h2", "h3", "h4")) > 3
        and len(cell.text_content()) > 600
        for cell in element.iter("td")
    )


def _declared_header(element: HtmlElement) -> int | None:
    """How many rows ``thead`` or all-``th`` rows name the columns, where the table says so."""
    count = 0
    for row in element.iter("tr"):
        cells = [cell for cell in row if cell.tag in {"td", "th"}]
        parent = row.getparent()
        in_head = parent is not None and parent.tag == "thead"
        if in_head or (len(cells) > 1 and all(cell.tag == "th" for cell in cells)):
            count += any(normal(cell.text_content()) for cell in cells)
        elif any(normal(cell.text_content()) for cell in cells):
            break
    return count or None


def _rows(element: HtmlElement, look: Look) -> Iterator[list[Cell]]:
    """Cells on the columns that their own spans, and those of the rows above, leave them."""
    reaching: dict[int, tuple[int, Cell | None]] = {}  # column: rows left, cell that reaches down
    for row in element.iter("tr"):
        if is_hidden(row):
            continue
        cells: list[Cell] = []
        column = 0
        below: dict[int, tuple[int, Cell | None]] = {}
        for part in [*row.iterchildren("td", "th"), None]:
            while column in reaching:
                left, above = reaching.pop(column)
                if above is not None:
                    cells.append(above)
                if left > 1:
                    below[column] = (left - 1, above)
                column += 1
            if part is None or is_hidden(part):
                continue
            width, height = _span(part, "colspan"), _span(part, "rowspan")
            cell = _cell(part, look, column, column + width)
            cells.append(cell)
            if height > 1:
                repeated = cell if len(cell.text.split()) <= _LONGEST_REPEATED else None
                for offset in range(width):
                    below[column + offset] = (height - 1, None if offset else repeated)
            column += width
        reaching = {**{c: (n - 1, a) for c, (n, a) in reaching.items() if n > 1}, **below}
        yield cells


def _span(cell: HtmlElement, name: str) -> int:
    text = cell.get(name, "1").strip()
    return min(max(int(text), 1), _MOST_SPAN) if text.isdecimal() else 1


def _cell(element: HtmlElement, look: Look, start: int, end: int) -> Cell:
    parts = list(runs(element, look_of(element, look)))
    text = normal("".join(run.text for run in parts))
    strong = bool(text) and (element.tag == "th" or common_look(parts).bold)
    return Cell(text, start, end, strong)


def _text(element: HtmlElement, look: Look) -> str:
    return "".join(run.text for run in runs(element, look))
