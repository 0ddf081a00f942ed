"""A planner's section meets the stored one, though worded otherwise."""

from __future__ import annotations

import pytest

from agent.retrieval.recall import match_sections, mentioned_sections

_STORED = [
    "Part I › Item 1. Business",
    "Part I › Item 1A. Risk Factors",
    "Part I › Item 1A. Risk Factors › Risks Related to Competition",
    "Part II › Item 7. Management's Discussion and Analysis of Financial Condition",
    "Part II › Item 7A. Quantitative and Qualitative Disclosures about Market Risk",
    "Audit Committee",
]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("Item 1A. Risk Factors", ["Part I › Item 1A. Risk Factors"]),
        ("item 1a", ["Part I › Item 1A. Risk Factors"]),
        ("Risk Factors section", ["Part I › Item 1A. Risk Factors"]),
        ("Item 1", ["Part I › Item 1. Business"]),
        ("Item 7", ["Part II › Item 7. Management's Discussion and Analysis of Financial Condition"]),
        ("the audit committee", ["Audit Committee"]),
        ("Cash flows", []),
        ("", []),
    ],
)
def test_match(wanted: str, expected: list[str]) -> None:
    assert match_sections(wanted, _STORED) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "According to the annual report's risk factors, who competes?",
            ["Part I › Item 1A. Risk Factors"],
        ),
        ("What does Item 7 say of revenue?", [_STORED[3]]),
        ("Who chairs the audit committee?", ["Audit Committee"]),
        ("What is the business about?", []),  # one common word names no section
    ],
)
def test_mentioned(question: str, expected: list[str]) -> None:
    assert mentioned_sections(question, _STORED) == expected
