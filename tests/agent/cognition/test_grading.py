"""Grading: CRAG's three grades, from the reader and from the model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from agent.cognition.grading import Grade, ModelGrader, ReaderGrader, overall

from agent.budget import Budget, BudgetExhausted
from agent.events import Event, Warned
from agent.session import Session
from agent.state import Candidate
from models.scripted import Scripted, ScriptedChat
from tests.agent.evidence import candidate

_QUESTION = "How many people did Orlavane employ in 2024?"
_GOLD = candidate(1, "Orlavane employed 3,940 people at the end of 2024.")
_NEAR = candidate(2, "Orlavane closed a plant in Ohio.")
_OFF = candidate(3, "Lunch is served at noon.")


@pytest.mark.parametrize(
    ("grades", "together"),
    [
        ([], "incorrect"),
        (["incorrect", "incorrect"], "incorrect"),
        (["incorrect", "ambiguous"], "ambiguous"),
        (["incorrect", "ambiguous", "correct"], "correct"),
    ],
)
def test_overall_is_crags_action(grades: list[Grade], together: Grade) -> None:
    assert overall(grades) == together


@pytest.mark.parametrize(
    ("score", "grade"),
    [
        (1.0, "correct"),
        (0.5, "correct"),
        (0.49, "ambiguous"),
        (0.05, "ambiguous"),
        (0.049, "incorrect"),
        (0.0, "incorrect"),
    ],
)
def test_the_readers_probability_is_cut_in_three(idle_session: Session, score: float, grade: Grade) -> None:
    read = Candidate({**_GOLD, "score": score})
    (found,) = ReaderGrader().grade(idle_session, [], _QUESTION, [read])
    assert (found.grade, found.probability) == (grade, score)


def test_each_passage_is_graded_for_itself(idle_session: Session) -> None:
    near, gold = Candidate({**_NEAR, "score": 0.1}), Candidate({**_GOLD, "score": 0.9})
    grader = ReaderGrader()
    (alone,) = grader.grade(idle_session, [], _QUESTION, [near])
    assert grader.grade(idle_session, [], _QUESTION, [gold, near])[1] == alone
    assert grader.grade(idle_session, [], _QUESTION, []) == []


def _asked(
    replies: Sequence[Scripted], candidates: list[Candidate], **chat_options: int
) -> tuple[list[str], list[Event]]:
    events: list[Event] = []
    with ScriptedChat(replies, **chat_options) as chat:
        session = Session(chat, Budget(), events.append)
        graded = ModelGrader().grade(session, ["QUESTION: q"], _QUESTION, candidates)
    assert all(one.probability in {0.0, 0.5, 1.0} for one in graded)
    return [one.grade for one in graded], events


def test_the_model_grades_all_passages_in_one_call() -> None:
    reply = ("(C) Report. Lunch", {"A": "correct", "B": "ambiguous", "C": "incorrect"})
    grades, events = _asked([reply], [_GOLD, _NEAR, _OFF])
    assert grades == ["correct", "ambiguous", "incorrect"]
    assert not any(isinstance(event, Warned) for event in events)


def test_what_the_model_leaves_out_is_asked_for_again() -> None:
    replies: list[Scripted] = [{"A": "correct"}, ("could not be used", {"A": "correct", "B": "incorrect"})]
    assert _asked(replies, [_GOLD, _OFF])[0] == ["correct", "incorrect"]


def test_an_answer_that_cannot_be_read_leaves_everything_ambiguous_and_says_so() -> None:
    grades, events = _asked(["They are all nice.", "Very nice."], [_GOLD, _OFF])
    assert grades == ["ambiguous", "ambiguous"]
    assert any(isinstance(event, Warned) for event in events)


def test_no_passage_no_call() -> None:
    assert _asked([], [])[0] == []


def test_a_passage_without_room_is_ambiguous() -> None:
    long = candidate(4, "word " * 400)
    grades, _ = _asked([{"A": "correct"}], [_GOLD, long, _OFF], context_tokens=700)
    assert grades == ["correct", "ambiguous", "ambiguous"]
    assert _asked([], [long], context_tokens=700)[0] == ["ambiguous"]


def test_the_budget_holds_for_grading_too() -> None:
    with ScriptedChat([]) as chat:
        session = Session(chat, Budget(tokens=10), lambda _event: None)
        with pytest.raises(BudgetExhausted):
            ModelGrader().grade(session, [], _QUESTION, [_GOLD])


def test_graders_have_names() -> None:
    assert ReaderGrader().name == "reader"
    assert ModelGrader().name == "llm"
