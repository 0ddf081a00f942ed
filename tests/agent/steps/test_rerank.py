"""Step ``rerank``: one list from the phrasings, as the reader reads it."""

from __future__ import annotations

import agent.events as ev
from agent.state import Recalled
from agent.steps.rerank import read, rerank
from tests.agent.made import candidate, only, state, step
from tests.agent.steps.conftest import Make
from tests.scripted import WordReader

QUESTION = "Who supplies ceramic bearings to Orlavane?"
BEARINGS = candidate(101, "Tolvang makes ceramic bearings for Orlavane.", scores={"vector": 0.4})
PLANT = candidate(102, "A plant burned.", scores={"vector": 0.6})
BEFORE = {"plan": [step(QUESTION)], "position": 0, "step": 1}


def _recalled(*lists: list[object]) -> list[Recalled]:
    return [Recalled(query=str(i), rung="", candidates=found) for i, found in enumerate(lists)]  # type: ignore[typeddict-item]


def test_a_passage_that_two_phrasings_brought_is_there_once_with_its_best_scores(make: Make) -> None:
    other = candidate(103, "Nothing else.")
    better = candidate(101, BEARINGS["text"], scores={"vector": 0.7, "keyword": 2.0})
    recalled = _recalled([PLANT, BEARINGS], [other, better])
    found = rerank(state(**BEFORE, recalled=recalled), make())["candidates"]
    assert sorted(c["passage_id"] for c in found) == [101, 102, 103]
    assert found[0]["scores"] | {"rerank": 0} == {"vector": 0.7, "keyword": 2.0, "rerank": 0}


def test_what_more_phrasings_brought_is_read_where_not_all_can_be(make: Make) -> None:
    recalled = _recalled([PLANT, BEARINGS], [candidate(103, "Nothing else."), BEARINGS])
    found = rerank(state(**BEFORE, recalled=recalled), make(search_limit=1))["candidates"]
    assert [c["passage_id"] for c in found] == [101]


def test_the_most_probable_passage_comes_first(make: Make, events: list[ev.Event]) -> None:
    found = rerank(state(**BEFORE, recalled=_recalled([PLANT, BEARINGS])), make())["candidates"]
    assert [c["passage_id"] for c in found] == [101, 102]
    assert all(c["score"] == c["scores"]["rerank"] for c in found)
    (event,) = only(events, ev.Reranked)
    assert (event.reranker, event.order) == ("words", [101, 102])
    assert event.scores == [round(c["score"], 5) for c in found]


def test_it_is_read_against_the_steps_question_not_the_query(make: Make) -> None:
    deps = make(reader=WordReader({QUESTION: ("Tolvang", 0.9)}))
    searched = state(**BEFORE, query="something else", recalled=_recalled([PLANT, BEARINGS]))
    found = rerank(searched, deps)["candidates"]
    assert [len(c["spans"]) for c in found] == [1, 0]


def test_marked_words_come_with_the_sentence_they_stand_in() -> None:
    found = read(WordReader({QUESTION: ("Tolvang", 0.87654)}), QUESTION, [PLANT, BEARINGS])
    assert found[0]["spans"] == [
        {
            "text": "Tolvang",
            "unit": "Tolvang makes ceramic bearings for Orlavane.",
            "probability": 0.8765,
        }
    ]


def test_a_cell_comes_with_its_row_spelled_out() -> None:
    table = candidate(5, "In millions | 2024 | 2023\nServices | 236.4 | 214.9", kind="table")
    (found,) = read(WordReader({QUESTION: ("214.9", 0.9)}), QUESTION, [table])
    assert [(span["text"], span["unit"]) for span in found["spans"]] == [
        ("214.9", "Services: 236.4 (2024), 214.9 (2023)")
    ]
