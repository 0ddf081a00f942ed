"""Step ``clarify``: waits, then the graph routes again."""

from __future__ import annotations

import agent.events as ev
from agent.steps.clarify import clarify
from tests.agent.made import state
from tests.agent.steps.conftest import Make, replied


def test_the_reply_makes_the_question_clear(make: Make, events: list[ev.Event]) -> None:
    asking = state(question="How much was it?", asking="Which company do you mean?")
    update = replied(lambda: clarify(asking, make()), "the revenue of Orlavane in 2024")
    assert "Orlavane" in update["question"]
    assert update["clarified"]
    assert events == [
        ev.Replied(
            "clarify", "Which company do you mean?", "the revenue of Orlavane in 2024", "person", 2.0
        )
    ]
