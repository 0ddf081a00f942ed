"""Numbers and dates in text: read, and equal across notations."""

from __future__ import annotations

import pytest
from babel.localedata import locale_identifiers

from agent.text.quantities import Date, Measure, Quantity, dated, is_among, read


def _one(text: str, language: str = "en") -> Measure:
    (found,) = (m for m in read(text, language) if isinstance(m, Date) or not m.part)
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("1,200", "en"), ("1.200", "de")),
        (("1,200", "en"), ("1 200", "fr")),
        (("1'200.50", "en"), ("1.200,50", "de")),
        (("24 months", "en"), ("2 years", "en")),
        (("24-month", "en"), ("innerhalb von zwei Jahren", "de")),
        (("3,2 %", "de"), ("3.2 percent", "en")),
        (("3.2 %", "en"), ("3.2 per cent", "en")),
        (("$4.1 million", "en"), ("4,100,000", "en")),
        (("EUR 4,100,000", "en"), ("4,1 Mio. €", "de")),
        (("28,000元", "zh"), ("两万八千元", "zh")),
        (("3.5万", "zh"), ("35,000", "en")),
        (("twenty-four", "en"), ("24", "en")),
        (("90 minutes", "en"), ("1.5 hours", "en")),
        (("5 km", "en"), ("5,000 metres", "en")),
        (("3 May 2024", "en"), ("2024-05-03", "en")),
        (("May 3, 2024", "en"), ("3. Mai 2024", "de")),
        (("may 3, 2024", "en"), ("3 may 2024", "en")),
        (("the 3rd of May 2024", "en"), ("03.05.2024", "de")),
        (("January 2027", "en"), ("Januarwoche 2027", "de")),
        (("2023年6月1日", "zh"), ("1 June 2023", "en")),
        (("5:30 pm", "en"), ("17:30", "en")),
    ],
)
def test_the_same_in_another_notation(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert is_among(_one(*one), [_one(*other)])


def test_a_sign_that_can_be_read_in_two_ways_is_told_by_the_text_or_left_open() -> None:
    assert _values("1.200", "") == {1200, 1.2}
    assert _values("1.200 und 3,5", "") == {1200, 3.5}
    assert _values("1.200", "de") == {1200}
    assert _values("1.200", "en") == {1.2}


def _values(text: str, language: str) -> set[float]:
    return {float(v) for m in read(text, language) if isinstance(m, Quantity) for v in m.values}


@pytest.mark.parametrize(
    ("wanted", "held"),
    [
        ("$1.28 billion", "Services | 1,284.6 | 214.9"),
        ("$1,284.6 million", "Services | 1,284.6"),
        ("24 months", "a term of two years"),
        ("5%", "fell by -5 %"),
        ("2023", "On 1 June 2023"),
        ("3 May 2024", "Minutes of 2024. On 3 May the board met."),
        ("May 2024", "on 2024-05-03"),
        ("2023", "FY2023"),
        ("200", "in Table 5 200 people"),
    ],
)
def test_what_a_passage_says_in_any_notation(wanted: str, held: str) -> None:
    assert is_among(_one(wanted), read(held, "en"))


@pytest.mark.parametrize(
    ("wanted", "held"),
    [
        ("48,500", "45,800"),
        ("1.2 billion", "1,284.6"),  # too round to be matched by rounding
        ("$84.6 billion", "$84.6 million"),
        ("£640,000", "640,000 euros"),
        ("five minutes", "five seconds"),
        ("30 days", "30 months"),
        ("30 days", "1 month"),  # it depends on the month
        ("20 °C", "20 °F"),
        ("12 V", "12 A"),
        ("5 %", "5 years"),
        ("17:40", "5:40 am"),
        ("5 million visitors", "for 5 days"),
        ("4 May 2024", "3 May 2024"),
        ("3 May 2024", "3 May 2023"),
        ("12", "112"),
    ],
)
def test_what_a_passage_does_not_say(wanted: str, held: str) -> None:
    assert not is_among(_one(wanted), read(held, "en"))


def test_what_only_looks_like_a_number_a_month_or_a_unit_is_none() -> None:
    text = "Q3 of the MI300X, version 1.2.3"
    assert all(isinstance(m, Quantity) and m.part for m in read(text, "en"))
    assert read("It may march on, one of them.", "en") == ()
    assert [m.unit for m in read("5 in 2023", "en") if isinstance(m, Quantity)] == ["", ""]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many were employed in 2023?", True),
        ("how many were employed in march 2023?", True),
        ("How many were employed on 3 May?", True),
        ("How many of the 1999 seats were sold?", True),  # it may be a year
        ("How many of the 300 employees may march?", False),
        ("Did it cost 2000 euros?", False),
        ("May I sublet the flat?", False),
        ("I pay the rent. “May I sublet it?”", False),
        ("May I sublet the flat in May?", True),
        ("May 2024: how many were employed?", True),
        ("3 May, who came?", True),
    ],
)
def test_a_day_a_month_or_a_year_is_a_date(question: str, expected: bool) -> None:
    assert dated(question) is expected


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_every_language_is_read(step: int) -> None:
    codes = [code for code in locale_identifiers() if "_" not in code][::step]
    for code in (*codes, "tlh"):  # one that has no locale
        assert read("12 of 20", code), code
