"""Questions as people type them get the route they need; where the rules are unsure, nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent.cognition.routing import (
    ModelRouter,
    PlainRouter,
    Routed,
    Router,
    RulesFirstRouter,
    clarifying_question,
)

from agent.budget import Budget
from agent.documents import sample_library
from agent.session import Session
from agent.state import Route, Turn
from models.scripted import ScriptedChat

TOOLS = [("reports", "annual reports"), ("news", "press releases")]
TURN = Turn(question="What was revenue in 2024?", answer="$1,284.6 million [1].")

DIRECT = (
    "hi",
    "hello there!",
    "Thanks a lot :)",
    "ok thanks, bye",
    "waht can you do",
    "how does this work",
    "what did i just ask?",
    "what was my first question",
    "repeat that shorter",
    "can you put that in a table please",
    "translate it into german",
    "Danke!",
    "wer bist du?",
    "was habe ich gerade gefragt",
    "你好",
    "我刚才问了什么？",
)
CLARIFY = (
    "what about it?",
    "and the other one?",
    "how much?",
    "and in 2022?",
    "and Graphics?",
    "why",
    "tell me more",
    "who is he",
    "what does it cost",
    "compare them",
    "when did that happen",
    "???",
    "und das andere?",
    "那个呢？",
    "为什么？",
)
SINGLE = (
    "how many people does orlavane employ",
    "who chairs the audit committee of orlavane",
    "Where is the Brevnes plant?",
    "orlavane revenue 2024",
    "hi, what was Orlavane's net revenue in 2024?",
    "when was tolvang founded",
    "what was revenue in 2024",
    "what is the list price of the ostra 180",
    "Who wrote Marrow?",
    "云浦工厂的年产能是多少？",
)
DEEP = (
    "compare orlavane and haldrecht",
    "orlavane vs haldrecht margins",
    "which is bigger, Calder Bend or Brevnes?",
    "revenue of services in 2023 and 2024",
    "where was the director of jaws born",
    "When was Orlavane's founder born?",
    "Who is the mother of the chair of Orlavane's audit committee?",
    "What was the utilization of the plant that builds the heat pumps for Pellacre?",
    "who supplies the bearings and what happened at the supplier's plant",
    "why did revenue fall in 2024",
    "what risks does tolvang mention",
    "what does the fire at Tolvang mean for Orlavane",
    "summarise the annual report",
    "list all suppliers",
    "How did the outlook change between March and July 2025?",
    "Warum fiel der Umsatz 2024?",
    "比较云浦和布雷夫尼斯工厂的产能",
)
OPEN = (  # the rules do not know; to plan for one fact only costs time
    "Wer leitet den Prüfungsausschuss von Orlavane?",
    "Wie heißt der Lieferant der Lager und wo liegt dessen Werk?",
    "收购云浦的公司总部在哪里？",
    "供应商的工厂发生了什么？",
)


def _route(router: Router, session: Session, question: str, turns: list[Turn] | None = None) -> Routed:
    return router.route(session, question, turns or [], TOOLS, may_clarify=True)


@pytest.mark.parametrize(
    ("question", "route"),
    [
        *((q, "direct") for q in DIRECT),
        *((q, "clarify") for q in CLARIFY),
        *((q, "single") for q in SINGLE),
        *((q, "deep") for q in (*DEEP, *OPEN)),
    ],
)
def test_as_people_type(question: str, route: Route, idle_session: Session) -> None:
    routed = _route(PlainRouter(), idle_session, question)
    assert (routed.route, routed.source) == (route, "rules")
    assert routed.reason.endswith(".")


@pytest.mark.parametrize("question", [q for q in sample_library.questions() if q.kind not in {"table"}])
def test_the_sample_library(question: sample_library.SampleQuestion, idle_session: Session) -> None:
    route = _route(PlainRouter(), idle_session, question.question).route
    assert route == "deep" if question.steps else route in {"single", "deep"}


@pytest.mark.parametrize("question", CLARIFY)
def test_nobody_is_asked_back_twice_nor_in_a_session(question: str, idle_session: Session) -> None:
    again = PlainRouter().route(idle_session, question, [], TOOLS, may_clarify=False)
    in_session = PlainRouter().route(idle_session, question, [TURN], TOOLS, may_clarify=True)
    assert "clarify" not in {again.route, in_session.route}


def test_multi_hop_questions_are_not_searched_once(data: Path, idle_session: Session) -> None:
    wrong = total = 0
    for name in ("musique", "hotpotqa", "2wikimultihopqa"):
        for line in (data / "multihop" / f"{name}_train.jsonl").read_text("utf-8").splitlines()[:100]:
            total += 1
            question = json.loads(line)["question"]
            wrong += _route(PlainRouter(), idle_session, question).route == "single"
    assert wrong / total < 0.02


def test_the_model_routes_each_question() -> None:
    with ScriptedChat([("Who founded Varo, and when?", {"route": "single"})]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        routed = _route(ModelRouter(), session, "Who founded Varo, and when?")
    assert (routed.route, routed.source) == ("single", "llm")


def test_a_model_that_makes_no_choice_loses_nothing() -> None:
    with ScriptedChat(["no idea", "still none"]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        assert _route(ModelRouter(), session, "Who founded Varo?").route == "deep"


def test_a_model_may_not_ask_back_twice() -> None:
    with ScriptedChat([{"route": "clarify"}]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        assert ModelRouter().route(session, "Varo?", [], TOOLS, may_clarify=False).route == "deep"


def test_without_budget_the_model_is_not_asked() -> None:
    with ScriptedChat([]) as chat:
        session = Session(chat, Budget(tokens=1), lambda _event: None)
        assert _route(ModelRouter(), session, "Who founded Varo?").route == "deep"
        assert clarifying_question(session, "Varo?", TOOLS, "llm").startswith("What would you like to know")


@pytest.mark.parametrize(
    "question", [*SINGLE, *DEEP, "Who made the film Kadis for whom in which of two towns?"]
)
def test_what_the_rules_know_or_is_long_is_not_asked(question: str, idle_session: Session) -> None:
    assert _route(RulesFirstRouter(), idle_session, question).source == "rules"


@pytest.mark.parametrize(
    ("chosen", "route", "source"),
    [("direct", "direct", "llm"), ("clarify", "clarify", "llm"), ("single", "deep", "rules")],
)
def test_the_model_is_trusted_with_talk_and_not_with_single(chosen: str, route: Route, source: str) -> None:
    with ScriptedChat([("谁是审计委员会主席", {"route": chosen})]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        routed = _route(RulesFirstRouter(), session, "谁是审计委员会主席？")
    assert (routed.route, routed.source) == (route, source)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("what does it cost", "What do you mean by “it”?"),
        ("and in 2022?", "What would you like to know about 2022?"),
        ("and Graphics?", "What would you like to know about Graphics?"),
        ("how much?", "Which company, document or figure do you mean?"),
        ("那个呢？", "Which company, document or figure do you mean?"),
    ],
)
def test_the_rules_ask_without_the_model(question: str, asked: str, idle_session: Session) -> None:
    whole = clarifying_question(idle_session, question, TOOLS, "rules")
    assert whole == f"{asked} I can look in: reports, news."
    assert clarifying_question(idle_session, question, [], "rules") == asked


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Which plant do you mean?\nI need to know.", "Which plant do you mean?"),
        ("你指的是哪个工厂？", "你指的是哪个工厂？"),
        (
            "What did the person ask for?",  # not about the message
            "Which company, document or figure do you mean? I can look in: reports, news.",
        ),
        (
            "The plant is in Ohio.",
            "Which company, document or figure do you mean? I can look in: reports, news.",
        ),
    ],
)
def test_the_model_words_its_own_question(written: str, asked: str) -> None:
    with ScriptedChat([("how big", written)]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        assert clarifying_question(session, "how big", TOOLS, "llm") == asked
