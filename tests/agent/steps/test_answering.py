"""Which passages a model's sentences come from."""

from __future__ import annotations

import re

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
    ("cited", "held"),
    [
        ("A fire halted production [1].", _ALL),
        ("The rent of the Brevnes plant is 1,350 euros [3].", _ALL),
        ("It rose from 1,200 to 1,350 euros [2][3].", _ALL),
        ("Die Laufzeit sind zwei Jahre [4].", _ALL),  # a language that the reader does not know
        ("- A fire halted production [1].\n- The roof was mended [2].", _ALL),
        (  # the one that holds the name
            "All production at the Ostrand plant halted for weeks [2].",
            [
                _FIRE,
                evidence(2, "Production at the plant in Ostrand halted in March.", document="b.md"),
            ],
        ),
        (  # the one that holds a small number
            "Halted production at the Brevnes plant for seven weeks [1].",
            [evidence(2, "Halted production at the Brevnes plant costs five weeks of stock."), _FIRE],
        ),
        (  # the fewest that hold all numbers
            "A new bracket cost 44 euros in 2024 and 38 in 2023 [2][3].",
            [
                evidence(1, "In 2024 and 2023 a new bracket cost more than before."),
                evidence(2, "A new bracket costs 44 euros in 2024."),
                evidence(3, "A new bracket costs 38 euros in 2023."),
            ],
        ),
    ],
)
def test_a_sentence_cites_what_it_comes_from(cited: str, held: list[Evidence]) -> None:
    draft = re.sub(r" ?\[\d\]", "", cited)
    assert cite(WordReader(), "What happened?", draft, held) == cited


def test_what_cites_already_is_left_alone() -> None:
    draft = "A fire halted production [3]."
    assert cite(WordReader(), "What happened?", draft, _ALL) == draft


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
