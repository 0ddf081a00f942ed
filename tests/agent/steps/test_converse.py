"""Step ``converse``: replies that need no documents."""

from __future__ import annotations

import pytest

import agent.events as ev
from agent.state import Turn
from agent.steps.converse import answer_directly, is_small_talk
from tests.agent.made import only, state
from tests.agent.steps.conftest import Events, Make


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
