"""A question whose last clause describes a thing or asks about one is two look-ups."""

from __future__ import annotations

import pytest

from agent.cognition.decomposing import decompose


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "Marrow is an album by the Romanian singer who studied at what college?",
            ["Marrow is an album by which Romanian singer?", "#1 studied at what college?"],
        ),
        (
            "Kadis: Live on the Lady Ann was recorded on a ship that was built by whom?",
            ["Kadis: Live on the Lady Ann was recorded on which ship?", "#1 was built by whom?"],
        ),
        (
            "Ann Lee was traded to the Varo Cowboys for a wide receiver born in what year?",
            [
                "Ann Lee was traded to the Varo Cowboys for which wide receiver?",
                "#1 was born in what year?",
            ],
        ),
        (
            "The Ansel 8-bit CPU was made by a corporation whose name stands for what?",
            ["The Ansel 8-bit CPU was made by which corporation?", "#1's name stands for what?"],
        ),
        (
            "Who wrote the book named after the artist known as the face of Kestrel?",
            ["Which artist was known as the face of Kestrel?", "Who wrote the book named after #1?"],
        ),
        (
            "What is the native language of the person who broke the salt law in Avelin?",
            ["Which person broke the salt law in Avelin?", "What is the native language of #1?"],
        ),
    ],
)
def test_the_clause_and_the_rest_are_two_look_ups(question: str, expected: list[str]) -> None:
    assert decompose(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Marrow is a film that stars which actor?",  # the description is of Marrow itself
        "A ship that was recorded on was built by whom?",  # nothing is named to begin with
        "Ann Lee led a company in 1991 that was sold to whom?",
        "When was the bar opened which was beaten by Marrow in 2016?",
        "In what year was the coach of the team that plays at Marrow born?",
        "What is the name of the hotel that stands on Kadis?",
        "Who is the singer that sang Kadis?",
        "How many employees does Ansel have?",
        "The season of Ansel included a home run battle against which slugger?",
    ],
)
def test_another_form_is_left_alone(question: str) -> None:
    assert decompose(question) == []
