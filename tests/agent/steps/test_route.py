"""Step ``route``: what a question needs; step ``converse``: replies that need no documents."""

from __future__ import annotations

from typing import Any

import pytest

import agent.events as ev
from agent.state import Turn
from agent.steps.converse import answer_directly, is_small_talk
from agent.steps.route import route
from tests.agent.made import candidate, only, state, step
from tests.agent.steps.conftest import Events, Make

_BEFORE = [Turn(question="What was the revenue of Orlavane in 2023?", answer="$5 million [1].")]
_ASKED = "What was it, and why?"


def _routed(
    make: Make, written: str, *, changes: dict[str, Any] | None = None, **deps: Any
) -> dict[str, Any]:
    asked = {"asked": _ASKED, "question": _ASKED, **(changes or {})}
    calls = 2 if written.count("\n") == 1 else 1  # a single look-up is checked
    return route(state(**asked), make(plans=[written] * calls, **deps))


@pytest.mark.parametrize(
    ("written", "way"),
    [
        (" TALK", "single"),  # there is no conversation to talk about
        (" ASK What do you mean?", "clarify"),
        (" =\n=", "single"),
        (" =\nWhat?\nWhy #1?", "deep"),
    ],
)
def test_the_plan_shows_the_way(make: Make, events: Events, written: str, way: str) -> None:
    assert _routed(make, written, interactive=True)["route"] == way
    (routed,) = only(events, ev.Routed)
    assert (routed.route, routed.source) == (way, "planner")


def test_talk_about_a_conversation_needs_no_documents_and_small_talk_no_planner(make: Make) -> None:
    assert _routed(make, " TALK", changes={"turns": _BEFORE})["route"] == "direct"
    assert route(state(asked="Hello!", question="Hello!"), make(plans=[]))["route"] == "direct"


def test_the_plan_is_kept_for_the_step_that_shows_it(make: Make) -> None:
    update = _routed(make, " =\n[news] What was it?\nWhy was #1?")
    assert update["plan"] == [step("What was it?", tool="news"), step("Why was #1?")]
    assert update["planned_by"] == "planner"


@pytest.mark.parametrize("way", ["single", "deep"])
def test_a_way_that_a_person_chose_is_taken(make: Make, events: Events, way: str) -> None:
    update = _routed(make, " TALK", route=way)
    assert (update["route"], update["plan"], update["planned_by"]) == (way, [step(_ASKED)], "default")
    assert [routed.source for routed in only(events, ev.Routed)] == ["person"]


def test_the_planners_words_take_the_place_of_typed_ones_only_after_a_clarification(make: Make) -> None:
    complete = "What was the revenue, and why?"
    assert _routed(make, f" {complete}\n=")["question"] == _ASKED
    assert _routed(make, f" {complete}\n=", changes={"clarified": True})["question"] == complete


@pytest.mark.parametrize(
    ("answers", "way"),
    [
        ([(1, 0.6), (1, 0.7), (2, 0.4)], "single"),
        ([(1, 0.6), (2, 0.7)], "clarify"),
        ([(1, 0.4)], "clarify"),
    ],
)
def test_the_user_is_not_asked_what_is_meant_where_one_document_answers(
    make: Make, answers: list[tuple[int, float]], way: str
) -> None:
    looked = [
        candidate(number, "The deposit is £150.", document_id=document, score=score)
        for number, (document, score) in enumerate(answers, start=1)
    ]
    update = _routed(make, " ASK Which deposit?", changes={"looked": looked}, interactive=True)
    assert (update["route"], update["plan"]) == (way, [step(_ASKED)])


@pytest.mark.parametrize(
    "nobody", [{"interactive": False}, {"interactive": True, "changes": {"clarified": True}}]
)
def test_nobody_is_asked_back_twice_nor_where_nobody_is(make: Make, nobody: dict[str, Any]) -> None:
    update = _routed(make, " ASK What do you mean?", **nobody)
    assert (update["route"], update["plan"]) == ("single", [step(_ASKED)])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Good morning!", True),
        ("  thanks :)", True),
        ("你好", True),
        ("Hello, who owns Tolvang?", False),
        ("?!", False),
    ],
)
def test_small_talk_is_a_whole_message(said: str, expected: bool) -> None:
    assert is_small_talk(said) is expected


def test_small_talk_gets_what_one_can_ask_without_model_and_sources(make: Make, events: Events) -> None:
    update = answer_directly(state(question="hello"), make())
    assert update["status"] == "answered"
    listed, _, rest = update["answer"].partition("\n\n")
    assert "- news: the news of Orlavane" in listed
    assert rest.startswith("A question"), "it is no part of the list"
    (answered,) = only(events, ev.Answered)
    assert (answered.answer, answered.sources, answered.grounded) == (update["answer"], [], False)
    nothing_read = answer_directly(state(question="Help"), make(collections=()))
    assert "None have been read yet" in nothing_read["answer"]


def test_the_model_is_asked_about_the_conversation(make: Make) -> None:
    asked = state(
        question="Shorter, please",
        turns=[Turn(question="What happened there in 2025?", answer="A fire [2].")],
    )
    assert answer_directly(asked, make([("Assistant: A fire [2].", " A fire. ")]))["answer"] == "A fire."
