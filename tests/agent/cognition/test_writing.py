"""An answer that only says that there is none is none."""

from __future__ import annotations

import pytest

from agent.cognition.writing import abstains, from_findings
from agent.state import Note


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Not found in your documents.", True),
        ("The list price is not provided in the given information.", True),
        ("The evidence does not state a price.", True),
        ("Revenue was $3 million, but the margin is not stated [1].", False),
        ("", False),
    ],
)
def test_abstains(answer: str, expected: bool) -> None:
    assert abstains(answer) is expected


def test_the_findings_as_an_answer() -> None:
    notes = [
        Note(step=1, question="a", sentence="It burned.", answer="x", cites=[2, 3], found=True, revision=0),
        Note(step=2, question="b", sentence="", answer="", cites=[], found=False, revision=0),
    ]
    assert from_findings(notes) == "It burned [2][3]."
