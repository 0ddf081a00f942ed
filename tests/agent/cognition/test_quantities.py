"""Numbers compared by what they mean."""

from __future__ import annotations

import pytest

from agent.cognition.quantities import quantities, stands, years


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("seven weeks, 3,940 people and 82%", ["seven", "3,940", "82"]),
        ("one of them", []),  # a pronoun, mostly
        ("the A100 and the Ostra 180", ["180"]),
        ("1800台提高到3200台", ["1800", "3200"]),
    ],
)
def test_quantities(text: str, shown: list[str]) -> None:
    assert [quantity.shown for quantity in quantities(text)] == shown


@pytest.mark.parametrize(
    ("wanted", "held", "expected"),
    [
        ("7", "seven weeks", True),
        ("seven", "7 weeks", True),
        ("3940", "3,940 people", True),
        ("2.90", "2.9", True),
        ("$1.28 billion", "1,284.6", True),  # a table in millions
        ("$1.29 billion", "1,284.6", False),
        ("$15 billion", "15,068", False),  # too round to be told from chance
        ("3 billion", "3 million", False),
        ("nine weeks", "on 9 April 2025", False),  # a day is no amount
        ("9 April", "2025-04-09", True),
        ("8", "seven", False),
    ],
)
def test_stands(wanted: str, held: str, *, expected: bool) -> None:
    assert all(stands(quantity, quantities(held)) for quantity in quantities(wanted)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 2024 and fiscal 2023", {"2024", "2023"}),
        ("2024年", {"2024"}),
        ("$2000, 2000% and 1800台", set()),
        ("1,990 or 2,024.5", set()),
    ],
)
def test_years(text: str, expected: set[str]) -> None:
    assert years(text) == expected
