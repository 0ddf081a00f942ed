"""One search in several words: the query first, each once, none tried before, none about something else."""

from __future__ import annotations

import pytest
from agent.cognition.phrasing import ModelPhraser, PlainPhraser

from agent.budget import Budget
from agent.session import Session
from agent.state import Candidate
from models.scripted import ScriptedChat

QUERY = "Who chairs the audit committee of Orlavane?"


def _passage(text: str, title: str = "Register") -> Candidate:
    return Candidate(
        passage_id=1,
        document_id=1,
        collection="reports",
        document="register",
        title=title,
        date="",
        section="",
        page=None,
        kind="text",
        text=text,
        score=1.0,
        scores={},
        grade="",
    )


@pytest.mark.parametrize(
    "query",
    [
        QUERY,
        "Is the Brevnes plant in Ohio?",
        "orlavane revenue 2024",
        "云浦工厂的年产能是多少？",
        "Who?",
        "What is it?",
        "What was revenue? If there is none, say so. Is that clear?",
    ],
)
def test_a_question_is_searched_as_it_is(query: str, idle_session: Session) -> None:
    assert PlainPhraser().phrase(idle_session, [], query, "") == [query]


def test_feedback_adds_the_distinctive_words_of_the_best_passages(idle_session: Session) -> None:
    passages = [
        _passage(
            "The audit committee, led by Noor Vanterhof, met in Lisbon. Vanterhof reported to the board."
        ),
        _passage("The board met in Lisbon."),
        _passage("The board met in Porto."),
    ]
    of_all, of_best = PlainPhraser().reword(idle_session, [], QUERY, [QUERY], passages)
    for reworded in (of_all, of_best):
        assert reworded.startswith("chairs audit committee Orlavane Vanterhof ")
        assert "the" not in reworded.casefold().split()
        assert reworded.split().count("audit") == 1
    assert "Porto" in of_all
    assert "Porto" not in of_best


def test_feedback_is_one_line_and_bounded(idle_session: Session) -> None:
    words = " ".join(f"W{'ab' * 20}{n}x" for n in range(40))
    (reworded,) = PlainPhraser().reword(idle_session, [], QUERY, [], [_passage(f"{words}\n{words}")])
    assert len(reworded) <= 300
    assert "\n" not in reworded


def test_feedback_in_chinese(idle_session: Session) -> None:
    query = "云浦工厂的年产能是多少？"
    (reworded,) = PlainPhraser().reword(
        idle_session, [], query, [query], [_passage("第二条生产线于2025年投产", "")]
    )
    assert "生产" in reworded


def test_without_passages_the_words_that_say_something_are_left(idle_session: Session) -> None:
    phraser = PlainPhraser()
    assert phraser.reword(idle_session, [], QUERY, [QUERY], []) == ["chairs audit committee Orlavane"]
    assert phraser.reword(idle_session, [], QUERY, ["Chairs audit committee Orlavane!"], []) == []


def test_the_model_phrases_it_in_other_words() -> None:
    written = {
        "searches": [
            "1. Orlavane audit committee chair",
            "who chairs the audit committee of orlavane",  # the query once more
            "weather in Lisbon",  # about something else
        ]
    }
    with ScriptedChat([("3 other ways to search for: Who chairs", written)]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        phrasings = ModelPhraser().phrase(session, ["QUESTION: …"], QUERY, "")
    assert phrasings == [QUERY, "Orlavane audit committee chair"]


def test_a_model_without_phrasings_leaves_the_query() -> None:
    with ScriptedChat(["no JSON", "none again"]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        assert ModelPhraser().phrase(session, [], QUERY, "") == [QUERY]


def test_the_model_does_not_repeat_what_was_tried() -> None:
    written = {"searches": ["Audit committee chair", "head of the audit committee", "x" * 301]}
    with ScriptedChat([("- audit committee chair\n", written)]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        tried = [QUERY, "audit committee chair"]
        reworded = ModelPhraser().reword(session, [], QUERY, tried, [])
    assert reworded == ["head of the audit committee"]
