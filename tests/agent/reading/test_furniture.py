"""What is printed on every page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.reading.furniture import furniture


def test_repeated_lines_stay_where_they_first_stand() -> None:
    pages = [["Company", f"text {n}", f"Page {n}"] for n in (4, 5, 6)]
    assert furniture(pages) == {(1, 0), (2, 0), (0, 2), (1, 2), (2, 2)}


def test_numbers_that_do_not_count_pages_stay() -> None:
    assert furniture([["12"], ["99"], ["5"], ["31"]]) == set()
    assert furniture([[f"Exhibit {n}"] for n in range(1, 5)]) == set()


def test_a_footer_with_a_number_goes() -> None:
    pages = [[f"some words {n * n}", f"Report 2023 | {n}"] for n in range(1, 9)]
    assert furniture(pages) == {(n, 1) for n in range(8)}


def test_units_and_tables_stay() -> None:
    assert furniture([["(In millions)", ""] for _ in range(5)]) == set()


@given(st.lists(st.lists(st.text(max_size=4), max_size=8), max_size=6))
def test_first_occurrences_are_kept(pages: list[list[str]]) -> None:
    gone = furniture(pages)
    kept = {
        text.casefold() for p, page in enumerate(pages) for e, text in enumerate(page) if (p, e) not in gone
    }
    for page, entry in gone:
        text = pages[page][entry].casefold()
        assert text in kept or any(character.isdigit() for character in text)
