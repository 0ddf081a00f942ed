"""Node ``synthesise``: the draft, from the model or from the findings."""

from __future__ import annotations

import pytest
from agent.nodes.synthesise import synthesise

import agent.events as ev
from agent.budget import BudgetExhausted
from agent.state import AnswerSpan, Candidate, Evidence, Note
from models.protocols import Reply, Usage
from models.scripted import ScriptedChat
from tests.agent.nodes.conftest import Make, candidate, evidence, state

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


def _span(text: str, probability: float, unit: str = "") -> AnswerSpan:
    return AnswerSpan(text=text, unit=unit or text, probability=probability)


_NOTES = [_note(1, "Tolvang supplies them.", 1), _note(2, "It burned in Brevnes.", 2)]


def test_the_model_writes(make: Make, events: list[ev.Event]) -> None:
    deps = make([("one to four", "Tolvang does [1].")])
    update = synthesise(state(route="deep", evidence=_HELD, notes=_NOTES[:1]), deps)
    assert (update["draft"], update["status"]) == ("Tolvang does [1].", "")
    assert "".join(e.text for e in events if isinstance(e, ev.AnswerText)) == "Tolvang does [1]."


def test_the_best_passages_are_read_in_a_prompt_of_their_own(make: Make) -> None:
    held = [evidence(number, f"Passage {number}.", score=number / 10) for number in range(1, 9)]
    deps = make([("[3] Passage 3.", "Tolvang does [8].")])
    synthesise(state(evidence=held, notes=_NOTES[:1], notebook=["STEP 1"]), deps)
    assert isinstance(deps.session.chat, ScriptedChat)
    prompt = deps.session.chat.calls[-1].messages[-1].content
    assert prompt.startswith("PASSAGES:\n[3]")  # the six best, in the order of their numbers
    assert "- Tolvang supplies them. [1]" in prompt
    assert "STEP 1" not in prompt


@pytest.mark.parametrize("said", ["", "[1]", "Which company supplies them? [1]"])
def test_a_draft_that_says_nothing_gives_way_to_what_was_found(make: Make, said: str) -> None:
    update = synthesise(state(evidence=_HELD, notes=_NOTES[:1]), make([said]))
    assert update["draft"] == "Tolvang supplies them [1]."
    marked = [candidate(2, _HELD[1]["text"], spans=[_span("Brevnes", 0.6, "It burned in Brevnes.")])]
    missed = state(evidence=_HELD, candidates=marked, notes=[_note(1, "", found=False)])
    assert synthesise(missed, make([said]))["draft"] == "Brevnes – It burned in Brevnes [2]."


def test_a_sentence_that_the_limit_cuts_off_is_not_kept(make: Make) -> None:
    reply = Reply("Tolvang does, e.g. in 3.5 ways [1]. It also makes", Usage(), "length")
    update = synthesise(state(evidence=_HELD, notes=_NOTES[:1]), make([reply]))
    assert update["draft"] == "Tolvang does, e.g. in 3.5 ways [1]."


def test_a_brief_answer_is_asked_for_briefly(make: Make) -> None:
    deps = make([("one or two", "Tolvang [1].")], length="brief")
    assert synthesise(state(evidence=_HELD, notes=_NOTES), deps)["draft"] == "Tolvang [1]."


def test_what_was_not_found_is_named_to_whoever_writes_from_the_findings(make: Make) -> None:
    notes = [_NOTES[0], _note(2, "", found=False)]
    deps = make([("This was not found, so leave it out: Question 2?", "Tolvang [1].")], profile_name="seed")
    synthesise(state(evidence=_HELD, notes=notes), deps)


def test_a_report_is_written_section_by_section(make: Make) -> None:
    deps = make(
        [
            ("one or two", "Tolvang, which burned [1]."),
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
    update = synthesise(state(evidence=[], notes=notes), make())
    assert (update["draft"], update["status"]) == ("", "not_found")


def test_without_a_finding_the_answer_is_shown_once_it_is_checked(
    make: Make, events: list[ev.Event]
) -> None:
    doubtful = [Evidence({**item, "score": 0.1}) for item in _HELD]
    missed = state(evidence=doubtful, notes=[_note(1, "", found=False)])
    update = synthesise(missed, make([("PASSAGES:", "Tolvang supplies them [1].")]))
    assert (update["draft"], update["status"]) == ("Tolvang supplies them [1].", "")
    assert not any(isinstance(e, ev.AnswerText) for e in events)  # it may not stand
    for reply in ("", BudgetExhausted("time budget")):
        update = synthesise(missed, make([reply]))
        assert (update["draft"], update["status"]) == ("", "not_found")


def test_with_no_budget_left_the_findings_are_the_draft(make: Make, events: list[ev.Event]) -> None:
    update = synthesise(state(evidence=_HELD, notes=_NOTES), make([BudgetExhausted("time budget")]))
    assert update["draft"] == "Tolvang supplies them [1]. It burned in Brevnes [2]."
    assert (update["status"], update["stopped_because"]) == ("", "time budget")
    assert any(isinstance(e, ev.Warned) for e in events)


def test_before_any_finding_the_best_passage_is_written_from(make: Make) -> None:
    update = synthesise(state(evidence=_HELD), make([BudgetExhausted("token budget")]))
    assert update["draft"] == "Orlavane buys its ceramic bearings from Tolvang [1]."


def test_a_rewrite_is_made_of_the_passages_own_words(make: Make) -> None:
    update = synthesise(state(evidence=_HELD, notes=_NOTES, approval="rewrite"), make())
    assert update["draft"] == "Tolvang supplies them [1]. It burned in Brevnes [2]."


# --- what the question found by itself --------------------------------------------------------------

_SENTENCE = "Sundrell insured the plant."


def _looked(passage_id: int, score: float, probability: float = 0.0) -> Candidate:
    spans = [_span("Sundrell", probability, _SENTENCE)] if probability else []
    return candidate(passage_id, _SENTENCE, score=score, spans=spans)


def test_what_the_look_found_is_kept_beside_what_the_steps_found(
    make: Make, events: list[ev.Event]
) -> None:
    deps = make([(f"{_SENTENCE} [3]", "Sundrell did [3], and Tolvang [1].")])
    looked = [_looked(30, 0.9, 0.95)]
    update = synthesise(
        state(route="deep", evidence=_HELD, notes=_NOTES[:1], looked=looked, notebook=["QUESTION"]), deps
    )
    assert [(item["number"], item["passage_id"]) for item in update["evidence"]] == [
        (1, 1),
        (2, 2),
        (3, 30),
    ]
    assert [note["cites"] for note in update["notes"]] == [[3], [1]]
    assert f"[3] {_SENTENCE}" in update["notebook"][-1]
    (kept,) = [event for event in events if isinstance(event, ev.EvidenceKept)]
    assert [item["number"] for item in kept.fresh] == [3]


def test_an_unsure_look_is_evidence_and_no_finding(make: Make) -> None:
    looked = [_looked(30, 0.9, 0.3), _looked(32, 0.8), _looked(33, 0.7), _looked(31, 0.04)]
    update = synthesise(
        state(route="deep", evidence=_HELD, notes=_NOTES[:1], looked=looked), make(["Tolvang [1]."])
    )
    assert [item["passage_id"] for item in update["evidence"]] == [1, 2, 30, 32, 33]
    assert update["notes"] == _NOTES[:1]


def test_what_a_step_kept_is_not_kept_twice_and_is_read_whole(make: Make, events: list[ev.Event]) -> None:
    looked = [_looked(1, 0.9, 0.95)]
    deps = make(["Tolvang [1]."])
    update = synthesise(state(route="deep", evidence=_HELD, notes=_NOTES[:1], looked=looked), deps)
    assert (update["evidence"][1:], update["notes"]) == (_HELD[1:], _NOTES[:1])
    assert (update["evidence"][0]["number"], update["evidence"][0]["excerpt"]) == (1, _SENTENCE)
    assert not any(isinstance(event, ev.EvidenceKept) for event in events)


def test_where_no_step_found_anything_the_sure_look_is_the_finding(make: Make) -> None:
    missed = [_note(1, "", found=False)]
    deps = make([("Sundrell", "Sundrell did [1].")])
    update = synthesise(state(route="deep", notes=missed, looked=[_looked(30, 0.9, 0.95)]), deps)
    assert update["draft"] == "Sundrell did [1]."


def test_a_single_look_up_of_which_the_reader_is_sure_is_answered_without_the_model(make: Make) -> None:
    sure = Note({**_note(1, "Orlavane buys them from Tolvang.", 1), "answer": "Tolvang", "sure": True})
    update = synthesise(state(route="single", evidence=_HELD, notes=[sure]), make())
    assert update["draft"] == "Tolvang – Orlavane buys them from Tolvang [1]."
    for route, profile in (("deep", "lean"), ("single", "seed")):
        deps = make(["Tolvang does [1]."], profile_name=profile)
        written = synthesise(state(route=route, evidence=_HELD, notes=[sure]), deps)
        assert written["draft"] == "Tolvang does [1]."
