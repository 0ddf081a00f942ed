"""What two findings say, held against each other."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agent.cognition.comparing import conclusion, judge, value
from agent.state import Claim, Note


@pytest.mark.parametrize(
    ("text", "size", "unit"),
    [
        ("seven weeks", "49", "day"),
        ("It lasted 2 years, until 2024.", "730", "day"),
        ("3,940 people", "3940", "people"),
        ("$1.2 million", "1200000", "$"),
        ("82% in 2024", "82", "%"),
        ("12 May 1950", "1950.0512", "date"),
        ("born October 5, 1987 in Rome", "1987.1005", "date"),
        ("2025-04-09", "2025.0409", "date"),
        ("in 1950", "1950", "date"),
    ],
)
def test_value(text: str, size: str, unit: str) -> None:
    found = value(text)
    assert found is not None
    assert (found.size, found.unit) == (Decimal(size), unit)


@pytest.mark.parametrize(
    "text", ["", "a fire", "between 5 and 7 weeks", "1950 and 1951", "7 weeks in May 9, 2025"]
)
def test_no_single_value(text: str) -> None:
    assert value(text) is None


def _note(question: str, answer: str, sentence: str = "") -> Note:
    return Note(
        step=1,
        question=question,
        sentence=sentence or answer,
        answer=answer,
        cites=[1],
        found=True,
        revision=0,
    )


@pytest.mark.parametrize(
    ("question", "notes", "expected"),
    [
        (
            "Was the stock longer or shorter than the halt at Brevnes?",
            [
                _note("How large was the stock of Tolvang?", "5", "Tolvang: 5 (safety_stock_weeks)"),
                _note("How long was the halt at Brevnes?", "seven weeks"),
            ],
            "5 weeks (Tolvang) is shorter than seven weeks (Brevnes).",
        ),
        (
            "Who was born first, Ann Lee or Bob Ray?",
            [_note("When was Ann Lee born?", "12 May 1950"), _note("When was Bob Ray born?", "1949")],
            "1949 (Bob Ray) is earlier than 12 May 1950 (Ann Lee), so it is Bob Ray.",
        ),
        (
            "Is the margin of Services higher than that of Heat?",
            [_note("What is it for Services?", "24%"), _note("What is it for Heat?", "17%")],
            "24% (Services) is more than 17% (Heat).",
        ),
        ("Is A higher than B?", [_note("A?", "5%"), _note("B?", "5%")], "5% is the same as 5%."),
        ("What are A and B?", [_note("A?", "5%"), _note("B?", "4%")], ""),  # nothing is compared
        ("Is A higher than B?", [_note("A?", "5%"), _note("B?", "4 tons")], ""),  # cannot be
        ("Is A higher than B?", [_note("A?", "5%")], ""),
        ("Is A higher than B?", [_note("A?", "5%"), _note("B?", "a fire")], ""),
        (
            "Which film has the director who was born first, Marrow or Kadis?",
            [
                _note("Who is the director of Marrow?", "Ann Lee"),
                _note("Who is the director of Kadis?", "Bob Ray"),
                _note("When was Ann Lee born?", "1950"),
                _note("When was Bob Ray born?", "1949"),
            ],
            "1949 (Bob Ray, the director of Kadis) is earlier than 1950 (Ann Lee, the director of Marrow), "
            "so it is Kadis.",
        ),
        (
            "Who is older, Ann Lee or Bob Ray?",
            [_note("How old is Ann Lee?", "42 years"), _note("How old is Bob Ray?", "41 years")],
            "42 years (Ann Lee) is longer than 41 years (Bob Ray), so it is Ann Lee.",
        ),
        (
            "Are Avelin and Varo in the same country?",
            [_note("In which country is Avelin?", "Iran"), _note("In which country is Varo?", "Iran.")],
            "Iran (Avelin) is the same as Iran (Varo).",
        ),
        (
            "Do Ann Lee and Bob Ray share a nationality?",
            [
                _note("What is the nationality of Ann Lee?", "American"),
                _note("What is the nationality of Bob Ray?", "the United States"),
            ],
            "American (Ann Lee) is the same as the United States (Bob Ray).",
        ),
        (
            "Are Avelin and Varo in the same country?",
            [_note("In which country is Avelin?", "Iran"), _note("In which country is Varo?", "India")],
            "Iran (Avelin) is not the same as India (Varo).",
        ),
        (  # a part of it is the same: left to the reader
            "Are Avelin and Varo in the same country?",
            [
                _note("In which country is Avelin?", "Kerman, Iran"),
                _note("In which country is Varo?", "Iran"),
            ],
            "",
        ),
        (
            "Are Avelin and Varo in the same country?",
            [_note("In which country is Avelin?", "Iran"), _note("Who built Varo?", "Ann Lee")],
            "",
        ),
    ],
)
def test_conclusion(question: str, notes: list[Note], expected: str) -> None:
    told = conclusion(question, notes)
    assert (told.text if told else "") == expected


_COUNTRY = "In which country is {}?"


@pytest.mark.parametrize(
    ("question", "notes", "expected"),
    [
        (
            "Are Avelin and Varo in the same country?",
            [_note(_COUNTRY.format("Avelin"), "Iran"), _note(_COUNTRY.format("Varo"), "India")],
            "No",
        ),
        (
            "Do Ann Lee and Bob Ray have the same nationality?",
            [
                _note("In which country was Ann Lee born?", "Iran"),
                _note("In which country was Bob Ray born?", "Iran"),
            ],
            "Yes",
        ),
        (  # what was found is not what is compared
            "Do the directors of Marrow and Kadis share the same nationality?",
            [
                _note("Who is the director of Marrow?", "Ann Lee"),
                _note("Who is the director of Kadis?", "Bob Ray"),
            ],
            "",
        ),
        (  # "Adelaide" is no other country than "Australia"
            "Are Avelin and Varo in the same country?",
            [
                _note(_COUNTRY.format("Avelin"), "Australia"),
                _note(
                    _COUNTRY.format("Varo"), "Adelaide", "Varo is a school in Adelaide, South Australia."
                ),
            ],
            "",
        ),
        (  # the same, and not what is asked
            "Are both Avelin and Varo American bands?",
            [_note("What is Avelin?", "a Dutch band"), _note("What is Varo?", "a Dutch band")],
            "",
        ),
        (  # no question of yes and no
            "What do Avelin and Varo have in common?",
            [_note("What is Avelin?", "a band"), _note("What is Varo?", "a duo")],
            "",
        ),
        (
            "Who was born first, Ann Lee or Bob Ray?",
            [_note("When was Ann Lee born?", "12 May 1950"), _note("When was Bob Ray born?", "1949")],
            "Bob Ray",
        ),
    ],
)
def test_what_follows_is_told_in_a_word_where_it_is_plain(
    question: str, notes: list[Note], expected: str
) -> None:
    told = conclusion(question, notes)
    assert (told.answer if told else "") == expected


_CLAIMS = [
    Claim(
        text="The register lists 5 weeks of safety stock.",
        cites=[4],
        support=1,
        verdict="supported",
        reason="",
    ),
    Claim(
        text="Production was halted for seven weeks in 2025.",
        cites=[6],
        support=1,
        verdict="supported",
        reason="",
    ),
]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The safety stock was shorter than the halt of production in 2025.", True),
        ("Therefore, the safety stock was longer than the halt of production.", False),
        ("The safety stock of 5 weeks is less than production was halted, seven weeks.", True),
    ],
)
def test_a_comparison_is_judged_by_the_values_of_its_sides(text: str, right: bool) -> None:
    told = judge(text, _CLAIMS)
    assert told is not None
    assert (told[0], told[2]) == (right, [4, 6])
    assert "5 weeks is not" in told[1]


@pytest.mark.parametrize(
    "text",
    [
        "The safety stock was five weeks.",
        "The safety stock was shorter than expected.",
        "It was longer than that.",
    ],
)
def test_what_compares_nothing_that_is_known(text: str) -> None:
    assert judge(text, _CLAIMS) is None
