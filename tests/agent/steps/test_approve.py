"""Step ``approve``: what becomes of an answer that is not grounded."""

from __future__ import annotations

import pytest

import agent.events as ev
from agent.prompts import WITHHELD
from agent.steps.approve import approve
from tests.agent.made import state
from tests.agent.steps.conftest import Make, replied


def test_always_accepts_without_asking(make: Make, events: list[ev.Event]) -> None:
    assert approve(state(), make(approve="always")) == {"approval": "accept"}
    (event,) = events
    assert isinstance(event, ev.Replied)
    assert (event.reply, event.by) == ("accept", "rule")


def test_never_has_it_rewritten_once_and_then_withheld(make: Make) -> None:
    deps = make(approve="never")
    assert approve(state(), deps) == {"approval": "rewrite"}
    update = approve(state(approval="rewrite"), deps)
    assert (update["status"], update["answer"]) == ("rejected", WITHHELD)


@pytest.mark.parametrize("reply", ["accept", "rewrite", " ACCEPT "])
def test_a_person_is_asked(make: Make, events: list[ev.Event], reply: str) -> None:
    deps = make()
    assert replied(lambda: approve(state(), deps), reply) == {"approval": reply.strip().casefold()}
    (event,) = events
    assert isinstance(event, ev.Replied)
    assert event.by == "person"


def test_searching_more_opens_the_run_again(make: Make) -> None:
    deps = make()
    deps.steering.finish()
    update = replied(lambda: approve(state(stopped_because="rules: done"), deps), "search")
    assert update == {"approval": "search", "action": "REVISE", "stopped_because": ""}
    assert not deps.steering.finishing


def test_an_unknown_reply_is_asked_again(make: Make, events: list[ev.Event]) -> None:
    deps = make()
    assert replied(lambda: approve(state(), deps), "perhaps", "stop")["status"] == "rejected"
    assert isinstance(events[0], ev.Replied)
    assert events[0].waited == 4.0, "for both"
