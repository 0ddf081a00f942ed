"""Node ``answer_directly``."""

from __future__ import annotations

from agent.nodes.answer_directly import answer_directly

import agent.events as ev
from tests.agent.nodes.conftest import Make, state


def test_a_greeting_is_answered_without_sources(make: Make, events: list[ev.Event]) -> None:
    update = answer_directly(state(question="hello"), make())
    assert update["status"] == "answered"
    (answered,) = events
    assert isinstance(answered, ev.Answered)
    assert (answered.answer, answered.sources, answered.grounded) == (update["answer"], [], False)
