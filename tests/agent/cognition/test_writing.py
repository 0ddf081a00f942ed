"""An answer that only says that there is none is none."""

from __future__ import annotations

import pytest

from agent.cognition.writing import abstains, from_findings, gaps, unanswered, with_gaps
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


def test_a_report_of_the_findings_has_a_section_for_each() -> None:
    note = Note(
        step=1, question="Who?", sentence="It burned.", answer="x", cites=[2], found=True, revision=0
    )
    assert from_findings([note], "report") == "## Who\n\nIt burned [2]."


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], ["Not found in your documents: How much did the insurer pay?"]),
        (["What the insurer paid is not stated."], []),
        (["The price is not stated."], ["Not found in your documents: How much did the insurer pay?"]),
    ],
)
def test_gaps(said: list[str], expected: list[str]) -> None:
    assert gaps(["How much did the insurer pay?"], said) == expected


def test_an_answer_with_its_gaps() -> None:
    assert with_gaps("A [1].", []) == "A [1]."
    assert with_gaps("A [1].", ["Not found: b"]) == "A [1]. Not found: b"
    assert (
        with_gaps("A [1].", ["Not found: b"], "report")
        == "A [1].\n\n## What was not found\n\n- Not found: b"
    )


def _note(answer: str, question: str = "What was it in 2023 and in 2022?", *, found: bool = True) -> Note:
    return Note(
        step=1, question=question, sentence=answer, answer=answer, cites=[1], found=found, revision=0
    )


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        (_note("5 (2023), 4 (2022)"), []),
        (_note("5 (2023)"), ["What was it in 2023 and in 2022 (2022)?"]),
        (_note("5 and 4, as in 2023"), []),
        (_note("5"), []),
        (_note("", found=False), ["What was it in 2023 and in 2022?"]),
    ],
)
def test_a_year_without_a_value_is_unanswered(note: Note, expected: list[str]) -> None:
    assert unanswered([note]) == expected
