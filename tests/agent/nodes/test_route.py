"""Node ``route``."""

from __future__ import annotations

from agent.nodes.route import route

import agent.events as ev
from agent.state import Turn
from tests.agent.nodes.conftest import Make, state

BEFORE = [Turn(question="What was the revenue of Orlavane in 2023?", answer="$5 million [1].")]


def test_a_chosen_route_asks_neither_rules_nor_model(make: Make, events: list[ev.Event]) -> None:
    assert route(state(), make(route="single"))["route"] == "single"
    (routed,) = events
    assert isinstance(routed, ev.Routed)
    assert (routed.route, routed.source) == ("single", "person")


def test_a_greeting_needs_no_documents(make: Make) -> None:
    assert route(state(asked="hello", question="hello"), make())["route"] == "direct"


def test_a_follow_up_becomes_a_question_of_its_own(make: Make, events: list[ev.Event]) -> None:
    asked = "and in 2022?"
    update = route(state(asked=asked, question=asked, turns=BEFORE), make(route="deep"))
    assert update["question"] == "What was the revenue of Orlavane in 2022?"
    (routed,) = events
    assert isinstance(routed, ev.Routed)
    assert (routed.asked, routed.question) == (asked, update["question"])


def test_what_says_nothing_is_asked_back_if_somebody_is_there(make: Make) -> None:
    vague = state(asked="what about it?", question="what about it?")
    update = route(vague, make(interactive=True))
    assert update["route"] == "clarify"
    assert "?" in update["asking"]
    once = state(asked="what about it?", question="what about it?", clarified=True)
    assert route(once, make(interactive=True, route="deep"))["route"] == "deep"
