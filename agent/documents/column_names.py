"""Which rows of a table name its columns, and one name for each column made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.documents.cell_values import is_unit, is_value, names_period
from agent.documents.columns import Cell, Row, Stretch, nearest, overlap
from agent.documents.prose import joined

_MOST_ROWS = 8
_OFF_CENTRE = 20.0  # points by which a period may miss the middle of the columns it stands over


def count_header_rows(rows: Sequence[Row]) -> int:
    """How many leading rows name the columns rather than hold values."""
    if not any(is_value(text) for row in rows for text in row.others):
        first = next((index for index, row in enumerate(rows) if row.others), 0)
        strong = all(cell.strong for cell in rows[first].cells)
        return first + 1 if strong and first + 1 < len(rows) else 0
    count = 0
    named = False
    for row in rows[:_MOST_ROWS]:
        if not row.others:
            if named and not is_unit(row.label):
                break
        elif any(is_value(text) for text in row.others) and (
            row.label or all(is_value(text) for text in row.others)
        ):
            break
        else:
            named = True
        count += 1
    return count if named else 0


def name_columns(
    rows: Sequence[Row], columns: Sequence[Stretch], *, exact: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Titles found among the header rows, and one name for each column.

    Args:
        rows: The header rows, from top to bottom.
        columns: The columns' stretches.
        exact: Whether a cell's stretch says which columns it names, or only where its ink lies.
    """
    titles: list[str] = []
    names: list[list[str]] = [[] for _ in columns]
    for row in rows:
        only = row.cells[0].text if len(row.cells) == 1 else ""
        if only and (is_unit(only) or (only.startswith("(") and only.endswith(")"))):
            names[0].append(only)
        elif only and 0 in row.texts:
            titles.append(only)
        else:
            for cell, covered in _covered(row, rows[-1], columns, exact=exact):
                for column in covered:
                    if cell.text not in names[column][-1:]:
                        names[column].append(cell.text)
    return titles, tuple(joined(parts) for parts in names)


def _covered(
    row: Row, lowest: Row, columns: Sequence[Stretch], *, exact: bool
) -> Iterator[tuple[Cell, Sequence[int]]]:
    """Which columns each cell of a header row names."""
    found: list[tuple[Cell, Sequence[int]]] = []
    for cell in row.cells:
        hit: Sequence[int] = [number for number, column in enumerate(columns) if overlap(cell, column)]
        found.append((cell, hit or [nearest(cell, columns)]))
    labels = [(cell, hit) for cell, hit in found if hit[0] == 0]
    others = [(cell, hit) for cell, hit in found if hit[0] > 0]
    if exact or not others:
        yield from found
        return
    yield from labels
    distinct = len({cell.text for cell, _ in others}) == len(others)
    if row is not lowest and distinct and (blocks := _blocks(len(others), lowest, len(columns))):
        yield from ((cell, block) for (cell, _), block in zip(others, blocks, strict=True))
        return
    taken = {column for _, hit in others for column in hit}
    for cell, hit in others:
        if names_period(cell.text):
            yield cell, _centred(cell, hit, columns, taken - set(hit))
        else:
            yield cell, hit


def _blocks(count: int, lowest: Row, width: int) -> list[range]:
    """The columns in ``count`` blocks, if their names repeat so often: 2022, 2021, 2022, 2021."""
    names = [lowest.texts.get(column, "") for column in range(1, width)]
    size, rest = divmod(len(names), count)
    if count < 2 or size < 2 or rest or names != names[:size] * count or not all(names):
        return []
    return [range(1 + block * size, 1 + (block + 1) * size) for block in range(count)]


def _centred(cell: Cell, hit: Sequence[int], columns: Sequence[Stretch], taken: set[int]) -> Sequence[int]:
    """The widest run of untaken columns around ``hit`` over whose middle the cell stands."""
    middle = (cell.start + cell.end) / 2
    runs: list[tuple[float, Sequence[int]]] = [(_OFF_CENTRE, hit)]
    for first in range(1, hit[0] + 1):
        for last in range(hit[-1], len(columns)):
            if not taken.intersection(range(first, last + 1)):
                centre = (columns[first][0] + columns[last][1]) / 2
                runs.append((abs(centre - middle), range(first, last + 1)))
    best = min(off for off, _ in runs)
    return max((run for off, run in runs if off < best + 4), key=len)
