"""Replies that need no documents."""

from __future__ import annotations

import pytest
from agent.cognition.conversing import ModelConverser, PlainConverser

from agent.budget import Budget, BudgetExhausted
from agent.session import Session
from agent.state import Turn
from models.scripted import Scripted, ScriptedChat

_TOOLS = [("reports", "annual reports"), ("news", "press releases")]
_TURNS = [
    Turn(question="Who supplies the bearings?", answer="Tolvang [1]."),
    Turn(question="What happened there in 2025?", answer="A fire [2]."),
]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Hello!", "Hello. I answer questions from your own documents"),
        ("good morning", "Hello."),
        ("你好", "Hello."),
        ("Thanks a lot", "You are welcome"),
        ("bye", "Goodbye."),
        ("What can you do?", "- news: press releases"),
        ("Which collections are there?", "- reports: annual reports"),
        ("What did I ask?", "1. Who supplies the bearings?\n2. What happened there in 2025?"),
        ("What was my last question?", "Your last question was: What happened there in 2025?"),
        ("What was the first question I asked?", "Your first question was: Who supplies the bearings?"),
        ("What did you say?", "You asked: What happened there in 2025?\nThe answer was: A fire [2]."),
        ("Please repeat your first answer", "The answer was: Tolvang [1]."),
        ("Hm", "I answer questions from your own documents"),
    ],
)
def test_clear_cases_need_no_model(idle_session: Session, said: str, expected: str) -> None:
    assert expected in PlainConverser().reply(idle_session, said, _TURNS, _TOOLS)


@pytest.mark.parametrize("said", ["What did I ask?", "What did you say?"])
def test_before_anything_was_asked(idle_session: Session, said: str) -> None:
    assert "in this session yet" in PlainConverser().reply(idle_session, said, [], _TOOLS)


def test_without_documents(idle_session: Session) -> None:
    assert "None have been read yet" in PlainConverser().reply(idle_session, "Help", [], [])


def _model(said: str, *replies: Scripted) -> str:
    with ScriptedChat(replies) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        return ModelConverser().reply(session, said, _TURNS, _TOOLS)


def test_the_model_is_asked_where_the_case_is_not_clear() -> None:
    assert _model("Shorter, please", ("Assistant: A fire [2].", "A fire.")) == "A fire."
    assert _model("Hi").startswith("Hello.")


@pytest.mark.parametrize("reply", ["  ", BudgetExhausted("token budget")])
def test_a_model_that_says_nothing_is_replaced(reply: Scripted) -> None:
    assert "I answer questions" in _model("Shorter, please", reply)
