"""What a question describes instead of naming it, looked up from the inside out."""

from __future__ import annotations

import pytest

from agent.cognition.decomposing import decompose


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "Where did the mother of the author of the novel Marrow die?",
            ["Who is the author of the novel Marrow?", "Who is the mother of #1?", "Where did #2 die?"],
        ),
        (
            "When was Peter Ode's father born?",
            ["Who is Peter Ode's father?", "When was #1 born?"],
        ),
        (
            "Who is the spouse of Big Eye's main director?",
            ["Who is Big Eye's main director?", "Who is the spouse of #1?"],
        ),
        (
            "When did the director of film Lunar Tide And Sea, Part Two (1945 Film) die?",
            [
                "Who is the director of film Lunar Tide And Sea, Part Two (1945 Film)?",
                "When did #1 die?",
            ],
        ),
        (
            "When was the clock built in the city where Ansel Kadis died?",
            ["What is the city where Ansel Kadis died?", "When was the clock built in #1?"],
        ),
        (
            "Who was in charge of the country Avelin is located in?",
            ["What is the country Avelin is located in?", "Who was in charge of #1?"],
        ),
        (
            "When did the country where the city where Ansel was born is located join Varo?",
            [
                "What is the city where Ansel was born?",
                "What is the country where #1 is located?",
                "When did #2 join Varo?",
            ],
        ),
        (
            "In what war did the man who narrated The Great Kadis fight?",
            ["Who is the man who narrated The Great Kadis?", "In what war did #1 fight?"],
        ),
        (
            "Who is the child of the person who ruled Avelin during the fire of 1889?",
            [
                "Who is the person who ruled Avelin during the fire of 1889?",
                "Who is the child of #1?",
            ],
        ),
        (
            "When did the country of Marrow's performer leave the union?",
            ["Who is Marrow's performer?", "What is the country of #1?", "When did #2 leave the union?"],
        ),
        (
            "Where was the film Lunar Tide filmed in the country where Ansel was born?",
            ["What is the country where Ansel was born?", "Where was the film Lunar Tide filmed in #1?"],
        ),
        (
            "When did the country containing Avelin join Varo?",
            ["What is the country containing Avelin?", "When did #1 join Varo?"],
        ),
        (
            "Who is the paternal grandmother of Ansel, Duke Of Avelin?",
            ["Who is the father of Ansel, Duke Of Avelin?", "Who is the mother of #1?"],
        ),
    ],
)
def test_the_innermost_is_looked_up_first(question: str, steps: list[str]) -> None:
    assert decompose(question) == steps


@pytest.mark.parametrize(
    "question",
    [
        "Who is the director of Kadis?",
        "What is Ansel's birthplace?",
        "What is the name of the author of Marrow?",
        "What was the population of Avelin in 2000?",
        "What nationality was the scientist who developed the Wein filter?",  # a name cut in two
        "Which river runs through the largest town of the north?",
        "谁是卡迪斯的导演?",
    ],
)
def test_what_describes_nothing_or_cannot_be_told_is_not_split(question: str) -> None:
    assert decompose(question) == []
