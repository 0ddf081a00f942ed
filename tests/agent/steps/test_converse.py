"""Step ``converse``: replies that need no documents."""

from __future__ import annotations

import pytest

import agent.events as ev
from agent.state import Turn
from agent.steps.converse import answer_directly, is_small_talk, reply
from tests.agent.made import only, scripted, state
from tests.agent.steps.conftest import Make
from tests.scripted import Scripted

_TOOLS = [("reports", "annual reports"), ("news", "press releases")]
_TURNS = [Turn(question="What happened there in 2025?", answer="A fire [2].")]


def _reply(said: str, *replies: Scripted, tools: list[tuple[str, str]] = _TOOLS) -> str:
    with scripted(*replies) as session:
        return reply(session, said, _TURNS, tools)


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


def test_small_talk_gets_what_one_can_ask_without_the_model() -> None:
    assert "- news: press releases" in _reply("Hi")
    assert "None have been read yet" in _reply("Help", tools=[])


def test_the_model_is_asked_about_the_conversation() -> None:
    assert _reply("Shorter, please", ("Assistant: A fire [2].", " A fire. ")) == "A fire."


def test_the_reply_is_an_answer_without_sources(make: Make, events: list[ev.Event]) -> None:
    update = answer_directly(state(question="hello"), make())
    assert update["status"] == "answered"
    (answered,) = only(events, ev.Answered)
    assert (answered.answer, answered.sources, answered.grounded) == (update["answer"], [], False)
