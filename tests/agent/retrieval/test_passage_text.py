"""What the reader is shown of a passage, and where its sentences and rows stand in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retrieval.passage_text import Shown, show, spelled

_TABLE = "Revenue\nIn millions | 2024 | 2023\nBy segment:\nServices | 236.4 | 214.9\nBuildings | 700.1 | "


def _units(shown: Shown) -> list[str]:
    return [shown.text[start:end] for start, end in shown.units]


@pytest.mark.parametrize(
    ("title", "section", "date", "heading"),
    [
        ("Report", "Part 1 › Item 2", "2025-01-30", "Report › Item 2 (2025-01-30)"),
        ("Report", "", "", "Report"),
        ("Report", "A › Report", "", "Report"),  # named once
        ("", "A › B", "2025-01-30", "B (2025-01-30)"),
        ("", "", "", ""),
    ],
)
def test_a_heading_line_says_where_it_is_from(title: str, section: str, date: str, heading: str) -> None:
    shown = show(title, section, date, "It burned.", "text")
    assert shown.text == f"{heading}\nIt burned."
    assert shown.text[shown.body :] == "It burned."


def test_prose_is_shown_as_it_is_sentence_by_sentence() -> None:
    text = "It was cold.  A fire halted production.\n\nA fire halted production."
    shown = show("Report", "", "", text, "text")
    assert shown.text[shown.body :] == text
    assert _units(shown) == ["It was cold.", "A fire halted production.", "A fire halted production."]
    assert len(set(shown.units)) == 3, "a repeated sentence has a place of its own"


def test_a_table_is_spelled_out_row_by_row_and_of_a_receipt_the_last_line_is_kept() -> None:
    shown = show("Report", "", "", _TABLE, "table")
    assert _units(shown) == [
        "Revenue",
        "By segment:",
        "Services: 236.4 (2024), 214.9 (2023)",
        "Buildings: 700.1 (2024)",
    ]
    assert "\n".join(_units(shown)) == shown.text[shown.body :] == spelled(_TABLE)
    receipt = "Repair of mainsail\nBatten pockets | 84.00\nUV strip, 6 m | 132.00\nTotal 216.00 EUR"
    lines = ["Repair of mainsail", "Batten pockets: 84.00", "UV strip, 6 m: 132.00", "Total 216.00 EUR"]
    assert spelled(receipt).splitlines() == lines


def test_words_are_found_in_their_unit() -> None:
    shown = show("Report", "", "", "It was cold. A fire halted production. Nobody was hurt.", "text")
    fire, hurt = shown.text.index("fire"), shown.text.index("hurt")
    assert shown.unit(fire, fire + 4) == "A fire halted production."
    assert shown.unit(fire, hurt) == "A fire halted production. Nobody was hurt."
    assert shown.unit(0, 6) == "Report", "the heading belongs to no unit"


@given(st.text(max_size=300), st.sampled_from(["text", "table"]))
def test_every_unit_stands_where_it_says(text: str, kind: str) -> None:
    shown = show("Report", "A › B", "2025-01-30", text, kind)
    assert all(shown.body <= start <= end <= len(shown.text) for start, end in shown.units)
    assert list(shown.units) == sorted(shown.units)
    body = shown.text[shown.body :]
    for unit in _units(shown):
        assert unit in body
