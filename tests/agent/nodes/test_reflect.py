"""Node ``reflect``: a step's finding, from its own passages, and who was sure of it."""

from __future__ import annotations

import pytest
from agent.cognition.reflecting import POSSIBLE
from agent.nodes.reflect import reflect

import agent.events as ev
from agent.state import AnswerSpan, RunState
from tests.agent.nodes.conftest import Make, candidate, evidence, state, step

_QUESTION = "What was the net revenue of Orlavane for fiscal 2024?"
_TEXT = "Net revenue of Orlavane for fiscal 2024 was $1,284.6 million."
_REVENUE = "$1,284.6 million"


def _before(probability: float, **changes: object) -> RunState:
    span = AnswerSpan(text=_REVENUE, unit=_TEXT, probability=probability)
    return state(
        **{
            "plan": [step(_QUESTION)],
            "position": 0,
            "step": 1,
            "query": _QUESTION,
            "candidates": [candidate(2, _TEXT, spans=[span], scores={"relevance": 0.7})],
            "evidence": [evidence(1, "Something else."), evidence(2, _TEXT)],
            **changes,
        }
    )


def test_a_step_without_candidates_finds_nothing_and_asks_nothing(
    make: Make, events: list[ev.Event]
) -> None:
    update = reflect(state(plan=[step(_QUESTION)], position=0, step=1), make())
    assert not update["notes"][0]["found"]
    assert update["notebook"] == ["FINDING 1: not found."]
    assert [type(event) for event in events] == [ev.Noted, ev.NotebookGrew]


def test_what_the_reader_is_sure_of_is_noted_without_asking(make: Make, events: list[ev.Event]) -> None:
    update = reflect(_before(0.95), make())
    (note,) = update["notes"]
    assert (note["answer"], note["sentence"], note["cites"]) == (_REVENUE, _TEXT, [2])
    assert (note["sure"], note["relevance"]) == (True, 0.7)
    assert isinstance(events[0], ev.Noted)
    assert events[0].origin == "reader"
    assert update["notebook"] == [f"FINDING 1: {_REVENUE} [2]"]


def test_of_what_a_later_step_needs_the_model_is_asked_about_the_steps_own_passages(make: Make) -> None:
    needed = _before(0.3, plan=[step(_QUESTION), step("Who earned #1?")])
    deps = make([(f"[2] “{_REVENUE}”", {"source": 2, "answer": _REVENUE})])
    (note,) = reflect(needed, deps)["notes"]
    assert (note["answer"], note["cites"], note["sure"]) == (_REVENUE, [2], False)
    elsewhere = make([{"source": 1, "answer": "Something else"}])
    (note,) = reflect(needed, elsewhere)["notes"]
    assert not note["found"]


@pytest.mark.parametrize(("probability", "found"), [(POSSIBLE, True), (POSSIBLE - 0.01, False)])
def test_what_no_later_step_needs_is_the_readers_best_span_if_it_is_possible(
    make: Make, probability: float, found: bool
) -> None:
    unrelated = [step(_QUESTION), step("Who earned #2?")]
    (note,) = reflect(_before(probability, plan=unrelated), make())["notes"]
    assert (note["found"], note["answer"]) == (found, _REVENUE if found else "")


def test_of_a_single_look_up_nobody_is_asked(make: Make) -> None:
    (sure,) = reflect(_before(0.95, route="single"), make())["notes"]
    assert (sure["found"], sure["sure"]) == (True, True)
    (unsure,) = reflect(_before(0.3, route="single"), make())["notes"]
    assert (unsure["found"], unsure["sure"]) == (False, False)


def test_the_seed_asks_of_a_single_look_up_as_well(make: Make) -> None:
    reply = {"source": 2, "answer": _REVENUE, "sentence": "It was $1,284.6 million."}
    (note,) = reflect(_before(0.95, route="single"), make([reply], profile_name="seed"))["notes"]
    assert (note["sentence"], note["sure"]) == ("It was $1,284.6 million.", False)
