"""The searches of a step: references are resolved, each search is made once and about the same thing."""

from __future__ import annotations

import pytest

from agent.session import Session
from agent.steps.queries import (
    model_phrasings,
    model_query,
    model_rewordings,
    model_strategy,
    one_line,
    plain_query,
    plain_rewordings,
    plain_strategy,
    resolve,
)
from tests.agent.made import candidate, note, scripted
from tests.scripted import Scripted

QUERY = "Who chairs the audit committee of Orlavane?"


def test_references_become_what_was_found() -> None:
    notes = [note("Tolvang Ceramics", 1), note("", step=2)]
    assert resolve("What happened at #1's plant?", notes) == "What happened at Tolvang Ceramics's plant?"
    assert resolve("Where is #2?", notes) == "Where is (Who makes them)?"
    assert resolve("Who was sent invoice #4711?", notes) == "Who was sent invoice #4711?"


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("NVIDIA revenue 2023", "NVIDIA revenue 2023"),
        ('Search query: "NVIDIA revenue"\nThis query looks for…', "NVIDIA revenue"),
        ("\n\n- Tolvang fire", "Tolvang fire"),
        ("", ""),
        ("…", ""),
        ("x" * 301, ""),  # an essay is no query
    ],
)
def test_one_line(written: str, query: str) -> None:
    assert one_line(written) == query


def test_the_query_is_the_question_or_what_the_model_writes(idle_session: Session) -> None:
    assert plain_query(idle_session, [], QUERY) == QUERY
    for written, query in (("audit chair Orlavane", "audit chair Orlavane"), ("", QUERY)):
        with scripted(written) as session:
            assert model_query(session, [], QUERY) == query


def _reword(session: Session, query: str, tried: list[str], *texts: str) -> list[str]:
    passages = [candidate(number, text) for number, text in enumerate(texts)]
    return plain_rewordings(session, [], query, tried, passages)


def test_feedback_adds_the_distinctive_words_of_the_best_passages(idle_session: Session) -> None:
    of_all, of_best = _reword(
        idle_session,
        QUERY,
        [QUERY],
        "The audit committee, led by Noor Vanterhof, met in Lisbon. Vanterhof reported to the board.",
        "The board met in Lisbon.",
        "The board met in Porto.",
    )
    for reworded in (of_all, of_best):
        assert reworded.startswith("chairs audit committee Orlavane Vanterhof ")
        assert "the" not in reworded.casefold().split()
        assert reworded.split().count("audit") == 1
    assert ("Porto" in of_all, "Porto" in of_best) == (True, False)


def test_feedback_adds_no_figures_and_nothing_where_there_is_no_passage(idle_session: Session) -> None:
    (reworded,) = _reword(idle_session, QUERY, [QUERY], "Heating kWh\nA1 | 3190 | 4760\nB1 | 3310 | 4880")
    assert reworded == "chairs audit committee Orlavane Heating kWh"
    (chinese,) = _reword(idle_session, "云浦工厂的年产能是多少？", [], "第二条生产线于2025年投产")
    assert "生产" in chinese
    assert _reword(idle_session, QUERY, [QUERY]) == ["chairs audit committee Orlavane"]
    assert _reword(idle_session, QUERY, ["Chairs audit committee Orlavane!"]) == []


def test_the_model_phrases_it_in_other_words_and_repeats_nothing() -> None:
    written = [
        "1. Orlavane audit committee chair",
        "who chairs the audit committee of orlavane",  # the query once more
        "weather in Lisbon",  # about something else
    ]
    with scripted({"searches": written}) as session:
        phrased = model_phrasings(session, ["QUESTION: …"], QUERY)
    assert phrased == [QUERY, "Orlavane audit committee chair"]
    again = {"searches": ["Audit committee chair", "head of the audit committee", "x" * 301]}
    with scripted(("- audit committee chair\n", again)) as session:
        reworded = model_rewordings(session, [], QUERY, [QUERY, "audit committee chair"], [])
    assert reworded == ["head of the audit committee"]
    with scripted("no JSON", "none again") as session:
        assert model_phrasings(session, [], QUERY) == [QUERY]


@pytest.mark.parametrize(
    ("query", "strategy"),
    [(QUERY, "hybrid"), ("Who said “the plant burned”?", "keyword"), ("order AB4711", "keyword")],
)
def test_exact_strings_are_searched_by_keyword(query: str, strategy: str, idle_session: Session) -> None:
    assert plain_strategy(idle_session, [], query) == strategy


@pytest.mark.parametrize(
    ("replies", "strategy"),
    [([{"justification": "a name", "strategy": "vector"}], "vector"), (["none", "none again"], "hybrid")],
)
def test_the_model_picks_a_strategy(replies: list[Scripted], strategy: str) -> None:
    with scripted(*replies) as session:
        assert model_strategy(session, [], QUERY) == strategy
