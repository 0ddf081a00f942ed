"""Node ``synthesise``: the draft, from the model or from the findings."""

from __future__ import annotations

import pytest

import agent.events as ev
from agent.budget import BudgetExhausted
from agent.nodes.synthesise import synthesise
from agent.state import Note
from models.protocols import Reply, Usage
from tests.agent.nodes.conftest import Make, evidence, state

_HELD = [
    evidence(1, "Orlavane buys its ceramic bearings from Tolvang."),
    evidence(2, "It burned in Brevnes."),
]


def _note(step: int, sentence: str, *cites: int, found: bool = True) -> Note:
    return Note(
        step=step,
        question=f"Question {step}?",
        sentence=sentence,
        answer=sentence,
        cites=list(cites),
        found=found,
        revision=0,
    )


_NOTES = [_note(1, "Tolvang supplies them.", 1), _note(2, "It burned in Brevnes.", 2)]


def test_the_model_writes(make: Make, events: list[ev.Event]) -> None:
    deps = make([("one to four", "Tolvang does [1].")])
    update = synthesise(state(evidence=_HELD, notes=_NOTES[:1]), deps)
    assert update == {"draft": "Tolvang does [1].", "status": ""}
    assert "".join(e.text for e in events if isinstance(e, ev.AnswerText)) == "Tolvang does [1]."


def test_a_finding_that_the_model_leaves_out_is_added(make: Make) -> None:
    deps = make([("one to four", "Tolvang does [1].")])
    update = synthesise(state(evidence=_HELD, notes=_NOTES), deps)
    assert update["draft"] == "Tolvang does [1]. It burned in Brevnes [2]."


def test_a_sentence_that_the_limit_cuts_off_is_not_kept(make: Make) -> None:
    reply = Reply("Tolvang does, e.g. in 3.5 ways [1]. It also makes", Usage(), "length")
    update = synthesise(state(evidence=_HELD, notes=_NOTES[:1]), make([reply]))
    assert update["draft"] == "Tolvang does, e.g. in 3.5 ways [1]."


def test_a_brief_answer_is_asked_for_briefly(make: Make) -> None:
    deps = make([("one or two short sentences", "Tolvang [1].")], length="brief")
    assert synthesise(state(evidence=_HELD, notes=_NOTES), deps)["draft"] == "Tolvang [1]."


def test_what_was_not_found_is_named_to_the_writer(make: Make) -> None:
    notes = [_NOTES[0], _note(2, "", found=False)]
    deps = make([("say plainly that it is missing: Question 2?", "Tolvang [1].")])
    synthesise(state(evidence=_HELD, notes=notes), deps)


def test_a_report_is_written_section_by_section(make: Make) -> None:
    deps = make(
        [
            ("one or two short sentences", "Tolvang, which burned [1]."),
            ("answers: Question 1?\nUse only passage [1]", "Tolvang supplies the bearings"),
            ("answers: Question 2?", "It burned [2]."),
        ],
        length="report",
    )
    notes = [*_NOTES, _note(3, "", found=False)]
    assert synthesise(state(evidence=_HELD, notes=notes), deps)["draft"] == (
        "## Short answer\n\nTolvang, which burned [1].\n\n"
        "## Question 1\n\nTolvang supplies the bearings [1].\n\n"
        "## Question 2\n\nIt burned [2]."
    )


def test_a_report_goes_on_with_the_findings_when_the_budget_is_used_up(
    make: Make, events: list[ev.Event]
) -> None:
    deps = make(["Tolvang [1].", BudgetExhausted("token budget")], length="report")
    draft = synthesise(state(evidence=_HELD, notes=_NOTES), deps)["draft"]
    assert draft.endswith(
        "## Question 1\n\nTolvang supplies them [1].\n\n## Question 2\n\nIt burned in Brevnes [2]."
    )
    assert any(isinstance(e, ev.Warned) for e in events)


@pytest.mark.parametrize("notes", [[], [_note(1, "", found=False)]])
def test_without_evidence_nothing_is_asked(make: Make, notes: list[Note]) -> None:
    assert synthesise(state(evidence=[], notes=notes), make()) == {"draft": "", "status": "not_found"}


def test_without_a_finding_the_evidence_is_read_once_more(make: Make, events: list[ev.Event]) -> None:
    missed = state(evidence=_HELD, notes=[_note(1, "", found=False)])
    deps = make([("Read the evidence above once more", "Tolvang supplies them [1].")])
    assert synthesise(missed, deps) == {"draft": "Tolvang supplies them [1].", "status": ""}
    assert not any(isinstance(e, ev.AnswerText) for e in events)  # it may not stand
    assert synthesise(missed, make([""])) == {"draft": "", "status": "not_found"}
    over = make([BudgetExhausted("time budget")])
    assert synthesise(missed, over) == {"draft": "", "status": "not_found"}


def test_with_no_budget_left_the_findings_are_the_draft(make: Make, events: list[ev.Event]) -> None:
    update = synthesise(state(evidence=_HELD, notes=_NOTES), make([BudgetExhausted("time budget")]))
    assert update == {
        "draft": "Tolvang supplies them [1]. It burned in Brevnes [2].",
        "status": "",
        "stopped_because": "time budget",
    }
    assert any(isinstance(e, ev.Warned) for e in events)


def test_before_any_finding_the_best_passage_is_written_from(make: Make) -> None:
    update = synthesise(state(evidence=_HELD), make([BudgetExhausted("token budget")]))
    assert update["draft"] == "Orlavane buys its ceramic bearings from Tolvang [1]."


def test_a_rewrite_is_made_of_the_passages_own_words(make: Make) -> None:
    update = synthesise(state(evidence=_HELD, notes=_NOTES, approval="rewrite"), make())
    assert update == {"draft": "Tolvang supplies them [1]. It burned in Brevnes [2].", "status": ""}
