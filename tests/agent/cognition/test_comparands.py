"""Questions that hold two things against each other: the same look-up for both."""

from __future__ import annotations

import pytest

from agent.cognition.decomposing import decompose


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "Which film came out first, Kadis or Lunar Tide?",
            ["When was Kadis released?", "When was Lunar Tide released?"],
        ),
        ("Who is older, Ansel or Varo?", ["When was Ansel born?", "When was Varo born?"]),
        ("Which band is older, Ansel or Varo?", ["When was Ansel founded?", "When was Varo founded?"]),
        ("Was Ansel or Varo Ode born first?", ["When was Ansel born?", "When was Varo Ode born?"]),
        (
            "Which opera has more acts, Kadis or Lunar Tide?",
            ["How many acts does Kadis have?", "How many acts does Lunar Tide have?"],
        ),
        ("Between Ansel and Varo, which is taller?", ["How tall is Ansel?", "How tall is Varo?"]),
        ("Which is a herb, Ansel or Varo?", ["What is Ansel?", "What is Varo?"]),
        (
            "Which film has the director who was born later, Kadis or Lunar Tide?",
            [
                "Who is the director of Kadis?",
                "Who is the director of Lunar Tide?",
                "When was #1 born?",
                "When was #2 born?",
            ],
        ),
        (
            "Do both films Kadis and Lunar Tide have the directors that share the same nationality?",
            [
                "Who is the director of Kadis?",
                "Who is the director of Lunar Tide?",
                "What is the nationality of #1?",
                "What is the nationality of #2?",
            ],
        ),
        (
            "Were the director of the film Kadis and the director of Lunar Tide born in the same country?",
            [
                "Who is the director of the film Kadis?",
                "Who is the director of Lunar Tide?",
                "Which country is #1 from?",
                "Which country is #2 from?",
            ],
        ),
        (
            "Are the villages Ansel, Varo and Avelin, Ode both located in the same country?",
            ["In which country is Ansel, Varo located?", "In which country is Avelin, Ode located?"],
        ),
        (
            "Did Ansel and Varo have the same nationality?",
            ["What is the nationality of Ansel?", "What is the nationality of Varo?"],
        ),
        (
            "Are Ansel and Varo both published in Avelin?",
            ["Is Ansel published in Avelin?", "Is Varo published in Avelin?"],
        ),
        (
            "Which occupation did Ansel and Varo have in common?",
            ["What is the occupation of Ansel?", "What is the occupation of Varo?"],
        ),
        ("What do Ansel and Varo have in common?", ["What is Ansel?", "What is Varo?"]),
        ("Ansel and Varo, are bands of which genre?", ["What is Ansel?", "What is Varo?"]),
        ("Who was born first Ansel or Varo?", ["When was Ansel born?", "When was Varo born?"]),
        (
            "What music genre do the bands Ansel and Varo produce?",
            ["What music genre does Ansel produce?", "What music genre does Varo produce?"],
        ),
    ],
)
def test_both_are_looked_up(question: str, steps: list[str]) -> None:
    assert decompose(question) == steps


@pytest.mark.parametrize(
    "question",
    [
        "What did Ansel and Varo build in 1911?",
        "Is the bridge open or closed?",
        "Ansel and Varo have a contract that ends when?",
        "Which segment grew faster, Ansel or Varo?",
        "Was revenue higher or lower than in 2022?",
        "Who founded the firm of Ansel and Varo?",
    ],
)
def test_what_compares_nothing_is_not_split(question: str) -> None:
    assert decompose(question) == []
