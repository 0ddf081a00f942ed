"""A follow-up is completed from the session; a question that stands on its own is left alone."""

from __future__ import annotations

import pytest
from agent.cognition.following import Follower, ModelFollower, PlainFollower, Standalone, clarified

from agent.budget import Budget
from agent.session import Session
from agent.state import Turn
from models.scripted import ScriptedChat

REVENUE = Turn(question="What was the net revenue of Orlavane in 2024?", answer="$1,284.6 million [1].")
SEGMENT = Turn(
    question="What was the net revenue of Orlavane's Services segment in 2024?", answer="$236.4 million."
)
SUPPLIER = Turn(
    question="Which supplier does Orlavane buy its bearings from?",
    answer="Orlavane buys all of its ceramic bearings from Tolvang Ceramics [2].",
)
CHINESE = Turn(question="云浦工厂2024年的产能是多少？", answer="1200台[1]。")


def _asked(question: str) -> Turn:
    return Turn(question=question, answer="")


@pytest.mark.parametrize("follower", [PlainFollower(), ModelFollower()])
@pytest.mark.parametrize(
    ("last", "question", "standalone"),
    [
        (REVENUE, "and in 2022?", "What was the net revenue of Orlavane in 2022?"),
        (REVENUE, "2022?", "What was the net revenue of Orlavane in 2022?"),
        (REVENUE, "thanks! and in 2022", "What was the net revenue of Orlavane in 2022?"),
        (REVENUE, "what about fiscal 2022?", "What was the net revenue of Orlavane in 2022?"),
        (REVENUE, "what was it in 2022", "What was the net revenue of Orlavane in 2022?"),
        (REVENUE, "and the year before?", "What was the net revenue of Orlavane in 2023?"),
        (REVENUE, "and Haldrecht?", "What was the net revenue of Haldrecht in 2024?"),
        (REVENUE, "what about Haldrecht in 2023?", "What was the net revenue of Haldrecht in 2023?"),
        (
            SEGMENT,
            "and the Industrial Heat segment?",
            "What was the net revenue of Orlavane's Industrial Heat segment in 2024?",
        ),
        (
            _asked("What was Orlavane's gross margin in 2024?"),
            "and Haldrecht's?",
            "What was Haldrecht's gross margin in 2024?",
        ),
        (
            _asked("What was the revenue of Orlavane?"),
            "and in 2022?",
            "What was the revenue of Orlavane in 2022?",
        ),
        (_asked("What was revenue in Q3 2024?"), "and Q2?", "What was revenue in Q2 2024?"),
        (_asked("What happened in July 2025?"), "and in June?", "What happened in June 2025?"),
        (
            _asked("How many people work at Orlavane in Ohio?"),
            "and in Texas?",
            "How many people work at Orlavane in Texas?",
        ),
        (CHINESE, "2023年呢？", "云浦工厂2023年的产能是多少？"),
        (
            _asked("Wie hoch war der Umsatz von Orlavane 2024?"),
            "und 2022?",
            "Wie hoch war der Umsatz von Orlavane 2022?",
        ),
    ],
)
def test_a_year_or_a_name_is_replaced(
    follower: Follower, last: Turn, question: str, standalone: str, idle_session: Session
) -> None:
    assert follower.standalone(idle_session, question, [SUPPLIER, last]) == Standalone(
        standalone, True, "rules"
    )


@pytest.mark.parametrize("follower", [PlainFollower(), ModelFollower()])
@pytest.mark.parametrize(
    "question",
    [
        "Who chairs the audit committee of Haldrecht?",
        "Who is Noor Vanterhof?",
        "What did Tolvang do after the fire at its plant?",
        "how do i cook rice properly at home",
        "布雷夫尼斯工厂的产能是多少？",
        "what did i just ask?",
        "repeat that shorter",
        "thanks",
    ],
)
def test_a_question_of_its_own_stays(follower: Follower, question: str, idle_session: Session) -> None:
    unchanged = Standalone(question, False, "")
    assert follower.standalone(idle_session, question, [REVENUE, SUPPLIER]) == unchanged
    assert follower.standalone(idle_session, question, []) == unchanged


@pytest.mark.parametrize(
    ("last", "question"),
    [
        (SEGMENT, "and Haldrecht?"),  # in place of the company or of the segment?
        (_asked("What was revenue in 2023 and in 2024?"), "and in 2022?"),
        (_asked("What happened in July 2025?"), "and in 2024?"),
        (_asked("How many people work at Orlavane?"), "and in Texas?"),
        (REVENUE, "and why in 2022?"),
        (SUPPLIER, "Where is that supplier based?"),
        (CHINESE, "它在哪里？"),
    ],
)
def test_what_the_rules_leave_open_is_asked_after_the_question_before(
    last: Turn, question: str, idle_session: Session
) -> None:
    joined = PlainFollower().standalone(idle_session, question, [last])
    assert joined == Standalone(f"{last['question']} {question}", True, "rules")


def test_without_a_word_that_points_back_nothing_is_added(idle_session: Session) -> None:
    question = "What was the gross margin?"
    assert not PlainFollower().standalone(idle_session, question, [SUPPLIER]).changed


@pytest.mark.parametrize(
    ("written", "standalone"),
    [
        ("Where is Tolvang Ceramics based?", "Where is Tolvang Ceramics based?"),
        ("ALONE: Where is Tolvang Ceramics based?\nIt is …", "Where is Tolvang Ceramics based?"),
        ("And where is Tolvang Ceramics based?", "where is Tolvang Ceramics based?"),
    ],
)
def test_the_model_resolves_what_points_back(written: str, standalone: str) -> None:
    with ScriptedChat(
        [("all of its ceramic bearings from Tolvang Ceramics.\nNEW: Where is that", written)]
    ) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        follower = ModelFollower()
        followed = follower.standalone(session, "Where is that supplier based?", [REVENUE, SUPPLIER])
    assert followed == Standalone(standalone, True, "llm")


@pytest.mark.parametrize(
    "written",
    [
        "Tolvang Ceramics is based in Brevnes.",  # answers
        "Where is Danfoss based?",  # a name that nobody said
        "Which supplier does Orlavane buy its bearings from?",  # the question before
        "Where is that supplier based?",  # nothing resolved
        "x" * 301,  # an essay
        "",
    ],
)
def test_what_the_model_must_not_write_is_not_used(written: str) -> None:
    with ScriptedChat([written]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        followed = ModelFollower().standalone(session, "Where is that supplier based?", [SUPPLIER])
    assert followed.question == f"{SUPPLIER['question']} Where is that supplier based?"
    assert followed.source == "rules"


def test_the_model_keeps_the_period_asked_about() -> None:
    with ScriptedChat(["Why did the revenue of Orlavane fall in 2024?"]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        followed = ModelFollower().standalone(session, "and why in 2022?", [REVENUE])
    assert followed.question == f"{REVENUE['question']} and why in 2022?"


def test_the_model_may_leave_a_new_question_as_it_is() -> None:
    with ScriptedChat(["What was the gross margin?"]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        followed = ModelFollower().standalone(session, "What was the gross margin?", [SUPPLIER])
    assert followed == Standalone("What was the gross margin?", False, "")


def test_the_model_sees_three_turns_and_short_answers() -> None:
    turns = [_asked(f"Question {n}?") for n in range(5)]
    turns[-1] = Turn(question="Question 4?", answer="word " * 100 + "[3]")
    with ScriptedChat(["Why is question 4 so?"]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        ModelFollower().standalone(session, "why?", turns)
    prompt = chat.calls[0].messages[-1].content
    assert "Question 1?" not in prompt
    assert "Question 2?" in prompt
    assert prompt.count("word") < 70
    assert "[3]" not in prompt


def test_without_budget_the_question_before_is_put_in_front() -> None:
    with ScriptedChat([]) as chat:
        session = Session(chat, Budget(tokens=1), lambda _event: None)
        followed = ModelFollower().standalone(session, "why?", [REVENUE])
    assert followed.question == f"{REVENUE['question']} why?"


def test_a_joined_question_is_no_essay(idle_session: Session) -> None:
    long = _asked("What about " + "many words " * 60 + "?")
    joined = PlainFollower().standalone(idle_session, "why?", [long]).question
    assert len(joined) <= 300
    assert joined.endswith(" why?")


@pytest.mark.parametrize(
    ("question", "asked", "reply", "joined"),
    [
        ("how much?", "Which figure do you mean?", "the Pellacre order", "how much (the Pellacre order)?"),
        ("what does it cost", "What is it?", "the Ostra 180.", "what does it cost (the Ostra 180)?"),
        (
            "how much?",
            "Which?",
            "How much is the Pellacre order worth?",
            "How much is the Pellacre order worth?",
        ),
        (
            "how much?",
            "Do you mean the Pellacre order?",
            "yes",
            "how much (Do you mean the Pellacre order)?",
        ),
        ("how much?", "Which?", "what about it?", "how much (what about it)?"),
        ("那个呢？", "哪个？", "云浦工厂", "那个呢 (云浦工厂)？"),
        ("how much?", "Which?", "  ", "how much?"),
        ("???", "Which?", "the Ostra 180", "the Ostra 180"),
    ],
)
def test_a_reply_completes_an_unclear_question(question: str, asked: str, reply: str, joined: str) -> None:
    assert clarified(question, asked, reply) == joined
    assert len(clarified(question, asked, reply * 100)) <= 300
