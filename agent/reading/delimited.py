"""Tables as text: CSV, whatever separates its cells."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from agent.reading.cover import stated_title
from agent.reading.document import Block, ParsedDocument, Table
from agent.reading.encoding import decode
from agent.reading.prose import normal
from agent.reading.quantities import is_value

_SEPARATORS = ",;\t|"
_LONGEST_CELL = 1 << 24
_SAMPLE = 200  # lines that decide what separates the cells


def read_delimited(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a table; lines of one cell above it are text, and so is all of it if it is none."""
    text = decode(data)
    csv.field_size_limit(_LONGEST_CELL)
    table = csv.reader(io.StringIO(text), delimiter=_separator(text))
    rows = [[normal(cell) for cell in row] for row in table]
    rows = [row for row in rows if any(row)]
    width = max((len(row) for row in rows), default=0)
    usual = Counter(sum(map(bool, row)) > 1 for row in rows).most_common(1)
    if width < 2 or not usual or not usual[0][0]:
        blocks = [Block("text", normal(line)) for line in text.splitlines() if line.strip()]
    else:
        start = next(index for index, row in enumerate(rows) if sum(map(bool, row)) > 1)
        above = [Block("text", " ".join(filter(None, row))) for row in rows[:start]]
        blocks = [*above, Block("table", table=_table(rows[start:], width))]
    return ParsedDocument(
        title=stated_title("", [], path),
        media_type="text/csv",
        blocks=tuple(blocks),
        visible_text=text,
    )


def _table(rows: Sequence[Sequence[str]], width: int) -> Table:
    even = [(*row, *[""] * (width - len(row))) for row in rows]
    named = len(even) > 1 and not any(is_value(cell) for cell in even[0])
    return Table(header=(even[0],) if named else (), rows=tuple(even[1:] if named else even))


def _separator(text: str) -> str:
    """The sign that cuts the first lines into the same number of cells, more than one, most often."""
    lines = text.splitlines()[:_SAMPLE]

    def evenness(sign: str) -> tuple[float, int]:
        counts = Counter(len(row) for row in csv.reader(lines, delimiter=sign) if row)
        cells, times = counts.most_common(1)[0] if counts else (1, 0)
        return (times / counts.total() if cells > 1 else 0.0, cells)

    return max(_SEPARATORS, key=evenness)
