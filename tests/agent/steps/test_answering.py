"""Which passages a model's sentences come from."""

from __future__ import annotations

import pytest

from agent.state import Evidence
from agent.steps.answering import cite, left_out
from tests.agent.made import evidence, note
from tests.scripted import WordReader

_FIRE = evidence(1, "A fire at the Brevnes plant halted all production for seven weeks.")
_RENT_2023 = evidence(2, "The rent of the Brevnes plant was 1,200 euros in 2023, and the roof was mended.")
_RENT_2024 = evidence(3, "From 2024 on the rent is 1,350 euros.")
_LEASE = evidence(4, "Die Miete beträgt 900 Euro im Monat, die Laufzeit zwei Jahre.")

_ALL = [_FIRE, _RENT_2023, _RENT_2024, _LEASE]


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("A fire halted production.", "A fire halted production [1]."),
        (
            "The rent of the Brevnes plant is 1,350 euros.",
            "The rent of the Brevnes plant is 1,350 euros [3].",
        ),
        ("It rose from 1,200 to 1,350 euros.", "It rose from 1,200 to 1,350 euros [2][3]."),
        ("A fire halted production [3].", "A fire halted production [3]."),
        ("Die Laufzeit sind zwei Jahre.", "Die Laufzeit sind zwei Jahre [4]."),
        (
            "- A fire halted production.\n- The roof was mended.",
            "- A fire halted production [1].\n- The roof was mended [2].",
        ),
    ],
    ids=["reader", "number", "two-numbers", "already", "unread-language", "list"],
)
def test_a_sentence_cites_what_it_comes_from(draft: str, expected: str) -> None:
    assert cite(WordReader(), "What happened?", draft, _ALL) == expected


@pytest.mark.parametrize(
    ("draft", "held", "marks"),
    [
        pytest.param(
            "All production at the Ostrand plant halted for weeks",
            [
                _FIRE,
                evidence(2, "Production at the plant in Ostrand was halted in March.", document="b.md"),
            ],
            "[2]",
            id="the one that holds the name",
        ),
        pytest.param(
            "Halted production at the Brevnes plant for seven weeks",
            [evidence(2, "Halted production at the Brevnes plant costs five weeks of stock."), _FIRE],
            "[1]",
            id="the one that holds a small number",
        ),
        pytest.param(
            "A new bracket cost 44 euros in 2024 and 38 in 2023",
            [
                evidence(1, "In 2024 and 2023 a new bracket cost more than before."),
                evidence(2, "A new bracket costs 44 euros in 2024."),
                evidence(3, "A new bracket costs 38 euros in 2023."),
            ],
            "[2][3]",
            id="the fewest that hold all numbers",
        ),
    ],
)
def test_of_passages_in_like_words_it_cites(draft: str, held: list[Evidence], marks: str) -> None:
    assert cite(WordReader(), "What happened?", f"{draft}.", held) == f"{draft} {marks}."


@pytest.mark.parametrize(
    ("answer", "left"), [("It costs 44 euros.", [2]), ("It costs 44 euros, once 38.", [])]
)
def test_a_look_up_whose_figures_an_answer_lacks_is_left_out(answer: str, left: list[int]) -> None:
    notes = [
        note("44 euros", 1, step=1, question="What does it cost now?"),
        note("38 euros", 2, step=2, question="What did it cost before?"),
    ]
    reader = WordReader(reads=0.9)
    assert [open_note["step"] for open_note in left_out(reader, notes, [], answer)] == left
