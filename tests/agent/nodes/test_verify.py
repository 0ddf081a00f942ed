"""Node ``verify``: the draft against its passages, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from agent.nodes.verify import verify

import agent.events as ev
from agent.prompts import NOT_FOUND
from agent.state import Note
from models.scripted import WordReader
from tests.agent.nodes.conftest import Make, evidence, state

_HELD = [
    evidence(
        1, "A fire halted production at the Brevnes plant of Tolvang for seven weeks. Nobody was hurt."
    ),
    evidence(2, "Net revenue of Orlavane for fiscal 2024 was $1,284.6 million."),
]


def _note(question: str, answer: str, *cites: int) -> Note:
    return Note(
        step=1,
        question=question,
        sentence=answer,
        answer=answer,
        cites=list(cites),
        found=bool(cites),
        revision=0,
    )


_FOUND = _note("What halted production at Brevnes?", "A fire", 1)


def _verified(
    make: Make, events: list[ev.Event], draft: str, notes: list[Note], **changes: Any
) -> tuple[dict[str, Any], ev.Answered]:
    update = verify(state(draft=draft, notes=notes, evidence=_HELD), make(**changes))
    answered = events[-1]
    assert isinstance(answered, ev.Answered)
    assert answered.answer == update["answer"]
    return update, answered


def test_a_grounded_answer(make: Make, events: list[ev.Event]) -> None:
    update, answered = _verified(make, events, "A fire halted production for seven weeks [1].", [_FOUND])
    assert update["answer"] == "A fire halted production for seven weeks [1]."
    assert (update["status"], update["grounded"], update["share"]) == ("answered", True, 1.0)
    assert [item["number"] for item in answered.sources] == [1]
    assert answered.quotes == {
        "1": "A fire halted production at the Brevnes plant of Tolvang for seven weeks."
    }


def test_what_is_not_supported_is_flagged_and_not_grounded(make: Make, events: list[ev.Event]) -> None:
    draft = "A fire halted production for seven weeks [1]. The insurer of Sundrell paid [1]."
    update, answered = _verified(make, events, draft, [_FOUND])
    assert update["answer"].endswith("The insurer of Sundrell paid (not supported by the sources) [1].")
    assert (update["grounded"], update["share"]) == (False, 0.5)
    assert answered.sentences[1]["reason"]


def test_a_sentence_said_four_times_is_one_claim_and_stands_once(
    make: Make, events: list[ev.Event]
) -> None:
    draft = (
        "A fire halted production [1]. " * 3 + "The insurer of Sundrell paid [1]. A fire halted production."
    )
    update, answered = _verified(make, events, draft, [_FOUND])
    assert update["answer"] == (
        "A fire halted production [1]. The insurer of Sundrell paid (not supported by the sources) [1]."
    )
    assert [claim["text"] for claim in answered.sentences] == [
        "A fire halted production.",
        "The insurer of Sundrell paid.",
    ]
    assert update["share"] == 0.5


def test_what_a_step_did_not_find_is_said_and_counts_for_nothing(
    make: Make, events: list[ev.Event]
) -> None:
    notes = [_FOUND, _note("How much did the insurer pay?", "")]
    update, _ = _verified(make, events, "A fire halted production for seven weeks [1].", notes)
    assert update["answer"].endswith("[1]. Not found in your documents: How much did the insurer pay?")
    assert (update["grounded"], len(update["claims"])) == (True, 1)


def test_what_stands_in_a_possible_passage_is_not_called_missing(
    make: Make, events: list[ev.Event]
) -> None:
    missed = Note({**_note("How much did the insurer pay?", ""), "relevance": 0.3})
    draft = "A fire halted production for seven weeks [1]."
    update, _ = _verified(make, events, draft, [_FOUND, missed])
    assert update["answer"] == draft


def test_a_report_has_a_section_for_what_is_missing(make: Make, events: list[ev.Event]) -> None:
    notes = [_FOUND, _note("How much did the insurer pay?", "")]
    draft = "## Short answer\n\nA fire halted production for seven weeks [1]."
    update, _ = _verified(make, events, draft, notes, length="report")
    assert update["answer"] == (
        "## Short answer\n\nA fire halted production for seven weeks [1].\n\n"
        "## What was not found\n\n- Not found in your documents: How much did the insurer pay?"
    )


@pytest.mark.parametrize(
    ("draft", "status"),
    [
        ("", "not_found"),
        ("Not found in your documents. A fire halted production [1].", ""),
        ("Not found in your documents.", ""),
    ],
)
def test_not_found(make: Make, events: list[ev.Event], draft: str, status: str) -> None:
    update = verify(state(draft=draft, status=status, notes=[_FOUND], evidence=_HELD), make())
    assert update["status"] == "not_found"
    assert (update["answer"], update["grounded"]) == ("Not found in your documents.", False)
    assert events == [ev.Answered("Not found in your documents.", [], [])]


_ASKED = "Who supplies Orlavane's bearings?"
_SAID = "Orlavane buys all of its ceramic bearings from Tolvang Ceramics [1]."


@pytest.mark.parametrize("notes", [[_FOUND], [Note({**_FOUND, "found": False})]])
@pytest.mark.parametrize(
    ("question", "draft", "score", "probability", "answer"),
    [
        (_ASKED, _SAID, 0.1, 0.6, _SAID),
        (_ASKED, f"{_SAID} Zanzibar owns the mill [1].", 0.1, 0.6, _SAID),
        (_ASKED, _SAID, 0.1, 0.3, NOT_FOUND),
        (_ASKED, f"{_SAID} Zanzibar owns the mill [1].", 0.3, 0.3, _SAID),
        ("奥拉万的轴承由谁供应？", _SAID, 0.1, 0.3, _SAID),
        ("奥拉万的轴承由谁供应？", "Zanzibar owns the mill [1].", 0.1, 0.3, NOT_FOUND),
    ],
)
def test_where_no_passage_is_likely_what_is_supported_and_answers_stands(
    make: Make, notes: list[Note], question: str, draft: str, score: float, probability: float, answer: str
) -> None:
    held = [evidence(1, "Orlavane buys all of its ceramic bearings from Tolvang Ceramics.", score=score)]
    reader = WordReader({_ASKED: ("Tolvang Ceramics", probability)})
    update = verify(state(question=question, draft=draft, notes=notes, evidence=held), make(reader=reader))
    assert update["answer"] == answer


@pytest.mark.parametrize(("score", "status"), [(0.6, "answered"), (0.3, "not_found")])
def test_what_is_not_supported_is_marked_where_the_reader_takes_a_passage_for_an_answer(
    make: Make, score: float, status: str
) -> None:
    held = [{**evidence(1, "Orlavane buys its bearings from Tolvang."), "score": score}]
    missed = [{**_FOUND, "found": False}]
    draft = "Zanzibar owns the mill [1]."
    update = verify(state(question=_ASKED, draft=draft, status="", notes=missed, evidence=held), make())
    assert update["status"] == status
    assert all(claim["verdict"] == "not" for claim in update["claims"])


def test_a_passage_that_denies_something_is_an_answer(make: Make, events: list[ev.Event]) -> None:
    held = [evidence(1, "The company does not give any guidance on prices.")]
    note = _note("What guidance is there?", "The company does not give any guidance on prices.", 1)
    update = verify(
        state(draft="The company does not give any guidance on prices [1].", notes=[note], evidence=held),
        make(),
    )
    assert update["status"] == "answered"
