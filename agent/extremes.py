"""The highest and lowest values of a table: a small model cannot find them by reading its rows."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import accumulate
from typing import Final

from agent.documents import table_text
from agent.documents.table_text import Row
from agent.retrieval.passage_text import show
from agent.state import Evidence
from agent.text import quantities
from agent.text.language import language, readable
from agent.text.quantities import Quantity
from models.protocols import Reader
from traces.library import Library
from traces.records import Passage

_POSSIBLE: Final = 0.3
"""Probability from which an extreme may answer the question, if no row of the table is likelier to.

Of some 300 questions about tables of written passages 24 ask for an extreme: eight of these reach it, all
with the right one, and so do eight of the others.
"""
_MOST: Final = 3  # extremes below one table
_LEAST: Final = 3  # numbers of which there is a highest and a lowest
_SHARED: Final = 3  # rows that may have it in common
_TOLERANCE: Final = Decimal("0.002")  # of a sum of rounded numbers, as a share of it


@dataclass(frozen=True, slots=True)
class _Number:
    value: Decimal
    unit: str
    cell: str


def with_extremes(
    questions: Sequence[str], evidence: Sequence[Evidence], reader: Reader, library: Library
) -> list[Evidence]:
    """The evidence, with the extremes of a table that the reader takes for likelier answers than its rows.

    They are those of the whole table, of which a passage may hold a part; the first of its passages has
    them.
    """
    by_table: dict[tuple[str, str, str], list[Evidence]] = {}
    for item in evidence:
        if item["kind"] == "table":
            table = item["collection"], item["document"], _head(item["text"])
            by_table.setdefault(table, []).append(item)
    passages_of = cache(library.document_passages)  # several tables may be of one document
    likely: dict[int, list[str]] = {}
    for items in by_table.values():
        stored = library.passages([items[0]["passage_id"]])
        parts = passages_of(stored[0].document_id) if stored else []
        statements = list(extremes(_whole(items[0], parts)))
        found = [
            line
            for question in filter(readable, questions)
            for line in _likely(question, items, statements, reader)
        ]
        if found:
            likely[items[0]["number"]] = list(dict.fromkeys(found))
    return [
        Evidence({**item, "extremes": likely[item["number"]]}) if item["number"] in likely else item
        for item in evidence
    ]


def _likely(
    question: str, items: Sequence[Evidence], statements: Sequence[str], reader: Reader
) -> list[str]:
    title, section = items[0]["title"], items[0]["section"]

    def read(texts: Sequence[str]) -> list[float]:
        shown = [show(title, section, "", text, "text").text for text in texts]
        return [reading.probability for reading in reader.read(question, shown)] if shown else []

    likely = [pair for pair in zip(read(statements), statements, strict=True) if pair[0] >= _POSSIBLE]
    if not likely:
        return []
    best_row = max(
        read([row.spelled() for item in items for row in table_text.rows(item["text"])]), default=0.0
    )
    return [
        statement
        for probability, statement in sorted(likely, reverse=True)[:_MOST]
        if probability > best_row
    ]


def _whole(item: Evidence, parts: Sequence[Passage]) -> list[Row]:
    """The rows of a passage's table, in ``parts``, the passages of its document."""
    head = _head(item["text"])
    texts = [part.text for part in parts if part.kind == "table" and _head(part.text) == head]
    return [row for text in texts or [item["text"]] for row in table_text.rows(text)]


def _head(text: str) -> str:
    return "\n".join(table_text.parts(text)[0])


def extremes(rows: Sequence[Row]) -> Iterator[str]:
    """``Highest Deaths: Avia, 537`` for each column of comparable numbers, and the lowest.

    Rows that are the sum of others are left out.
    """
    code = language("\n".join(row.line for row in rows))
    table = [
        {column: number for column, cell in row.cells if column and (number := _number(cell, code))}
        for row in rows
    ]
    columns = list(dict.fromkeys(column for numbers in table for column in numbers))
    sums = _sums(table, columns)
    for column in columns:
        yield from _highest_and_lowest(
            column,
            [
                (number, row.label)
                for row, numbers, is_sum in zip(rows, table, sums, strict=True)
                if not is_sum and (number := numbers.get(column))
            ],
        )


def _highest_and_lowest(name: str, numbers: Sequence[tuple[_Number, str]]) -> Iterator[str]:
    values = [number.value for number, _ in numbers]
    if (
        len(values) < _LEAST
        or len({number.unit for number, _ in numbers}) > 1
        or min(values) == max(values)
    ):
        return
    for word, extreme in (("Highest", max(values)), ("Lowest", min(values))):
        found = [(number.cell, whose) for number, whose in numbers if number.value == extreme]
        if len(found) <= _SHARED:
            yield f"{word} {name}: {' and '.join(whose for _, whose in found)}, {found[0][0]}"


def _number(cell: str, code: str) -> _Number | None:
    """The one number of a cell; None if it has none, several, or one that can be read in two ways."""
    measures = quantities.read(cell, code)
    measure = measures[0] if len(measures) == 1 else None
    if not isinstance(measure, Quantity) or measure.part or len(measure.values) != 1:
        return None
    (value,) = measure.values
    # In accounts a number in brackets is negative.
    return _Number(-value if f"({measure.shown})" in cell else value, measure.unit, cell)


def _sums(table: Sequence[dict[str, _Number]], columns: Sequence[str]) -> list[bool]:
    """Of each row, whether it is the sum of those right above it, or of all others, in most of its columns.

    Of a table with one column, only the sum of all others counts.
    """
    matches = [0] * len(table)
    for column in columns:
        places = [place for place, numbers in enumerate(table) if column in numbers]
        values = [table[place][column].value for place in places]
        for place, is_sum in zip(
            places, _are_sums(values, also_of_those_above=len(columns) > 1), strict=True
        ):
            matches[place] += is_sum
    return [match > len(numbers) / 2 for match, numbers in zip(matches, table, strict=True)]


def _are_sums(values: Sequence[Decimal], *, also_of_those_above: bool) -> Iterator[bool]:
    """Of each value, whether it is the sum of all others, or of two or more right above it."""
    sums = list(accumulate(values, initial=Decimal()))  # of the values above each place
    starts: list[Decimal] = []  # those that are two places above or more, in order of size
    for place, value in enumerate(values):
        above, others = sums[place], sums[-1] - value
        if place >= 2:
            insort(starts, sums[place - 2])
        least, most = sorted((value / (1 + _TOLERANCE), value / (1 - _TOLERANCE)))
        at = bisect_left(starts, above - most)
        is_of_others = len(values) > _LEAST and least <= others <= most
        is_of_those_above = at < len(starts) and starts[at] <= above - least
        yield is_of_others or (also_of_those_above and is_of_those_above)
