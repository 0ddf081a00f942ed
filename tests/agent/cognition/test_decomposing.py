"""Look-ups that the form of a question shows."""

from __future__ import annotations

import pytest
from agent.cognition.decomposing import decompose

from agent.documents import sample_library


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "Who is president of the bank, and to which position did the board appoint that person?",
            ["Who is president of the bank?", "To which position did the board appoint #1?"],
        ),
        (
            "Which single supplier does Orlavane buy bearings from, what halted production at that "
            "supplier's plant in 2025, and for how long?",
            [
                "Which single supplier does Orlavane buy bearings from?",
                "What halted production at #1's plant in 2025, and for how long?",
            ],
        ),
        (
            "How did Orlavane's outlook change between the annual report and the meeting of July 2025?",
            [
                "What was Orlavane's outlook, according to the annual report?",
                "What was Orlavane's outlook, according to the meeting of July 2025?",
            ],
        ),
        (
            "How has net revenue changed from 2022 to 2023?",
            ["What was net revenue in 2022?", "What was net revenue in 2023?"],
        ),
        (
            "How many weeks of stock did it hold, and was that longer or shorter than the halt at Brevnes?",
            ["How many weeks of stock did it hold?", "How long was the halt at Brevnes?"],
        ),
        (
            "Based on the report's risk factor about its largest customer, what does Cathmoor's "
            "announcement of June mean for Orlavane?",
            [
                "What does the report's risk factor about its largest customer say?",
                "What is said about Cathmoor's announcement of June?",
            ],
        ),
        (
            "Based on NVIDIA's annual report, which risks from competition does it name, and how does "
            "AMD's launch of the MI300X, with its cloud customers, bear on them?",
            [
                "Which risks from competition does NVIDIA's annual report name?",
                "What is said about AMD's launch of the MI300X, with its cloud customers?",
            ],
        ),
        (
            "Where did the mother of the author of the novel Marrow die?",
            ["Who is the author of the novel Marrow?", "Who is the mother of #1?", "Where did #2 die?"],
        ),
        (
            "Which film came out first, Kadis or Lunar Tide?",
            ["When was Kadis released?", "When was Lunar Tide released?"],
        ),
        (
            "Marrow is an album by the Romanian singer who studied at what college?",
            ["Marrow is an album by which Romanian singer?", "#1 studied at what college?"],
        ),
    ],
)
def test_forms(question: str, steps: list[str]) -> None:
    assert decompose(question) == steps


@pytest.mark.parametrize(
    "question",
    [
        "Who chairs the audit committee of Orlavane?",
        "What was the net revenue of the Services segment in 2024 and in 2023?",
        "In which year was the firm that built the bridge founded?",
        "Which city, in which Orlavane has a plant, is the largest?",
        "What are research and development costs?",
        "What were the revenues of Graphics in 2023, and how did each change from 2022?",
        "What part of the state, in which the actor is stuck, is Rochester in?",
        "Brett Dier, who starred in Jane the Virgin, appears on what shows?",
        "",
    ],
)
def test_what_has_none_of_the_forms_is_left_to_the_model(question: str) -> None:
    assert decompose(question) == []


def test_the_sample_questions_of_one_step_are_not_split() -> None:
    for question in sample_library.questions():
        if not question.steps:
            assert decompose(question.question) == [], question.id
