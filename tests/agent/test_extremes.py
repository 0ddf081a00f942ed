from __future__ import annotations

import pytest

from agent.documents.table_text import rows
from agent.extremes import extremes, with_extremes
from agent.notebook import passage
from tests.agent.made import evidence, put
from tests.scripted import WordReader
from traces.library import Library
from traces.records import Chunk

_DEATHS = "Airlines\n| Deaths | Incidents\nAvia | 537 | 3\nBoreal | 12 | 24"
_MORE_DEATHS = "Airlines\n| Deaths | Incidents\nCirrus | 640 | 6\nDelfin | 0 | 2"


def _extremes(text: str) -> list[str]:
    return list(extremes(rows(text)))


def test_of_each_column_the_highest_and_lowest_values_are_said_as_written() -> None:
    text = "| Weight | Height (m)\nHeron | 2.3 kg | 1.0\nCoot | 900 g | 0.4\nCrane | 5.6 kg | 1.0"
    assert _extremes(text) == [
        "Highest Height (m): Heron and Crane, 1.0",
        "Lowest Height (m): Coot, 0.4",
    ], "different units are not compared"
    assert _extremes("Of | Change\nA | (7)\nB | -3\nC | 4")[1] == "Lowest Change: A, (7)"


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (("3", "5"), []),  # two numbers
        (("4", "4", "4"), []),
        (("10-12", "3", "5-6", "n/a"), []),  # one number
        (("red", "green", "blue"), []),
        (("0", "0", "0", "0", "7"), ["Highest Value: Row 4, 7"]),  # many rows share the lowest
    ],
)
def test_what_has_no_highest_is_left_out(column: tuple[str, ...], found: list[str]) -> None:
    lines = [f"Row {place} | {cell}" for place, cell in enumerate(column)]
    assert _extremes("\n".join(["Row | Value", *lines])) == found


def test_sums_are_no_highest_values() -> None:
    two = "| Adults | Children\nMay | 4 | 10\nJune | 7 | 2\nJuly | 5 | 9\nAll | 16 | 21"
    assert [line for line in _extremes(two) if line.startswith("Highest")] == [
        "Highest Adults: June, 7",
        "Highest Children: May, 10",
    ]
    one = "Month | Adults\nMay | 4\nJune | 7\nJuly | 11\nAugust | 5\nYear | 27"
    assert _extremes(one)[0] == "Highest Adults: July, 11", (
        "4 and 7 make 11, but nothing says that they are added"
    )


def test_the_extremes_of_the_whole_table_are_below_the_passage_for_a_question_that_they_answer(
    library: Library,
) -> None:
    parts = [_DEATHS, _MORE_DEATHS]
    chunks = tuple(Chunk(i, "table", ("Airlines",), None, text, ()) for i, text in enumerate(parts))
    first, _ = library.document_passages(put(library, "airlines", parts, chunks=chunks))
    held = [evidence(1, _DEATHS, kind="table", passage_id=first.id), evidence(2, "Avia flies to Oslo.")]
    reader = WordReader()
    table, text = with_extremes(["Who had the highest deaths: Cirrus, 640?"], held, reader, library)
    assert table["extremes"] == ["Highest Deaths: Cirrus, 640"]
    assert passage(table).endswith("\nBoreal | 12 | 24\nHighest Deaths: Cirrus, 640")
    assert text == held[1]
    assert with_extremes(["What are Boreal's 12 deaths and 24 incidents?"], held, reader, library) == held
