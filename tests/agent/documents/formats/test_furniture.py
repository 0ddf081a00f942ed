"""What is printed on every page."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.documents.formats.furniture import furniture


def test_repeated_lines_stay_where_they_first_stand_and_numbers_that_do_not_count_pages() -> None:
    pages = [["Company", f"text {n}", f"Page {n}"] for n in (4, 5, 6)]
    assert furniture(pages) == {(1, 0), (2, 0), (0, 2), (1, 2), (2, 2)}
    assert furniture([["12"], ["99"], ["5"], ["31"]]) == set()
    assert furniture([[f"Exhibit {n}"] for n in range(1, 5)]) == set()


def test_fields_of_forms_stay() -> None:
    """Records of a page each, whose lines stand in the same places and are often the same."""
    departments = ("Sales", "Sales", "Legal", "Sales", "Legal", "Sales")
    records = [
        [
            f"Person {'abcdef'[n]}",
            f"Department: {name}",
            "Status: active",
            f"Text {'abcdef'[n]}.",
            "Office: Berlin",
        ]
        for n, name in enumerate(departments)
    ]
    assert furniture(records) == set()
    reachable = [[*record, "Contact by phone only." if n % 3 else "-"] for n, record in enumerate(records)]
    assert furniture(reachable) == set()


def test_one_value_on_page_after_page_is_a_running_line_on_left_and_right_pages_too() -> None:
    paper = [["Deep Learning: A Survey", f"text {n * n}"] for n in range(12)]
    assert furniture(paper) == {(n, 0) for n in range(1, 12)}
    book = [["The Book" if n % 2 else f"Chapter {'AB'[n // 10]}", f"text {n * n}"] for n in range(20)]
    assert furniture(book) == {(n, 0) for n in range(20)} - {(0, 0), (1, 0), (10, 0)}


def test_what_stands_inside_the_text_stays() -> None:
    """At the edge, but not in one place, or below a line that is none."""
    moving = [["Head", *[f"t{n}"] * (n % 3), "None.", f"u{n}", f"v{n}", f"w{n}", f"x{n}"] for n in range(6)]
    assert furniture(moving) == {(n, 0) for n in range(1, 6)}
    below = [[f"Title {'abcdef'[n]}", "Overview", f"u{n}", f"v{n}", f"w{n}"] for n in range(6)]
    assert furniture(below) == set()


@given(
    st.lists(st.lists(st.sampled_from(["", "Head", "head", "Text", "Page 1", "2"]), max_size=8), max_size=6)
)
@settings(max_examples=30)
def test_first_occurrences_are_kept(pages: list[list[str]]) -> None:
    gone = furniture(pages)
    kept = {
        text.casefold() for p, page in enumerate(pages) for e, text in enumerate(page) if (p, e) not in gone
    }
    for page, entry in gone:
        text = pages[page][entry].casefold()
        assert text in kept or any(character.isdigit() for character in text)
