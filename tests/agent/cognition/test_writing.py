"""An answer that only says that there is none is none."""

from __future__ import annotations

import pytest
from agent.cognition.writing import ModelWriter, abstains, from_findings, gaps, unanswered, with_gaps

from agent.budget import Budget
from agent.prompts import NOT_FOUND
from agent.session import Session
from agent.state import Note
from models.scripted import ScriptedChat


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (NOT_FOUND, True),
        (f"{NOT_FOUND} [1]", True),
        ("not found in your documents", True),
        ("The margin is not stated [1].", False),  # a sentence like any other: it is checked
        ("", False),
    ],
)
def test_abstains(answer: str, expected: bool) -> None:
    assert abstains(answer) is expected


def _note(answer: str, sentence: str = "", *cites: int, question: str = "Who was it?") -> Note:
    return Note(
        step=1,
        question=question,
        sentence=sentence,
        answer=answer,
        cites=list(cites),
        found=bool(cites),
        revision=0,
    )


@pytest.mark.parametrize(
    ("answer", "sentence", "said"),
    [
        ("seven weeks", "It stood still for seven weeks.", "seven weeks – It stood still for seven weeks"),
        ("Tolvang", "Tolvang supplies them.", "Tolvang supplies them"),  # it begins with the answer
        ("", "It burned.", "It burned"),
        ("236.4", "", "236.4"),
    ],
)
def test_what_was_asked_for_comes_before_its_sentence(answer: str, sentence: str, said: str) -> None:
    assert from_findings([_note(answer, sentence, 2, 3)]) == f"{said} [2][3]."


def test_a_long_sentence_is_shown_around_the_answer() -> None:
    sentence = " ".join(["word"] * 100 + ["Tolvang"] + ["word"] * 100)
    said = from_findings([_note("Tolvang", sentence, 1)])
    assert said.startswith("Tolvang – … word ")
    assert " Tolvang " in said.partition("…")[2]
    assert said.endswith(" word … [1].")
    assert len(said) < 330


def test_only_what_was_found_is_an_answer() -> None:
    notes = [_note("", "It burned.", 2), _note(""), _note("", "Nobody was hurt.", 3)]
    assert from_findings(notes) == "It burned [2]. Nobody was hurt [3]."


def test_a_report_of_the_findings_has_a_section_for_each() -> None:
    assert from_findings([_note("", "It burned.", 2)], "report") == "## Who was it\n\nIt burned [2]."


def test_gaps() -> None:
    missing = ["How much did the insurer pay?", "The name of the insurer."]
    assert gaps(missing) == [
        "Not found in your documents: How much did the insurer pay?",
        "Not found in your documents: The name of the insurer.",
    ]
    assert gaps([]) == []


def test_what_a_later_revision_found_is_not_unanswered() -> None:
    lost, found = _note(""), _note("Ann", "Ann did it.", 1)
    assert unanswered([lost]) == ["Who was it?"]
    assert unanswered([lost, found]) == ["Who was it?"]
    assert unanswered([lost, Note({**found, "revision": 1})]) == []


def test_an_answer_with_its_gaps() -> None:
    assert with_gaps("A [1].", []) == "A [1]."
    assert with_gaps("A [1].", ["Not found: b"]) == "A [1]. Not found: b"
    assert (
        with_gaps("A [1].", ["Not found: b"], "report")
        == "A [1].\n\n## What was not found\n\n- Not found: b"
    )


def test_a_question_that_is_handed_back_is_left_out() -> None:
    said = "Until when must I submit? By 10:00 am [1]. Who approves it [2]? The manager does [2]."
    notes = [_note("10:00 am", "By 10:00 am.", 1), _note("the manager", "The manager does.", 2)]
    with ScriptedChat([said]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        written = ModelWriter(220).write(session, [], "Until when?", notes, lambda _text: None)
    assert written == "By 10:00 am [1]. The manager does [2]."
