"""Node ``rerank``: one list from the phrasings, in the reranker's order."""

from __future__ import annotations

import agent.events as ev
from agent.nodes.rerank import rerank
from agent.state import Recalled
from models.scripted import WordReader
from tests.agent.nodes.conftest import Make, candidate, state, step
from traces.library import Library
from traces.records import Scope

BEARINGS = candidate(101, "ceramic bearings of Orlavane", scores={"vector": 0.4})
PLANT = candidate(102, "a plant", scores={"vector": 0.6})
BEFORE = {"plan": [step("Who supplies ceramic bearings of Orlavane?")], "position": 0, "step": 1}


def _recalled(*lists: list[object]) -> list[Recalled]:
    return [Recalled(query=str(i), rung="", candidates=found) for i, found in enumerate(lists)]  # type: ignore[typeddict-item]


def test_a_passage_that_two_phrasings_brought_rises_and_is_there_once(make: Make) -> None:
    other = candidate(103, "else")
    better = candidate(101, "ceramic bearings of Orlavane", scores={"vector": 0.7, "keyword": 2.0})
    recalled = _recalled([PLANT, BEARINGS], [other, better])
    found = rerank(state(**BEFORE, recalled=recalled), make())["candidates"]
    assert [c["passage_id"] for c in found] == [101, 102, 103]
    assert found[0]["scores"] == {"vector": 0.7, "keyword": 2.0}


def test_one_list_keeps_its_scores(make: Make, events: list[ev.Event]) -> None:
    found = rerank(state(**BEFORE, recalled=_recalled([PLANT, BEARINGS])), make())["candidates"]
    assert found == [PLANT, BEARINGS]
    (event,) = events
    assert isinstance(event, ev.Reranked)
    assert (event.reranker, event.order) == ("", [102, 101])


def test_what_grading_goes_by_is_measured_against_the_steps_question(make: Make, library: Library) -> None:
    deps = make()
    (held, *_) = library.chunk_ids(Scope()).tolist()
    recalled = _recalled([candidate(held, "bearings", scores={"vector": 9.0, "keyword": 2.0})])
    (found,) = rerank(state(**BEFORE, recalled=recalled), deps)["candidates"]
    assert found["scores"]["keyword"] == 2.0
    assert found["scores"]["vector"] <= 1.0
    assert 0 <= found["scores"]["coverage"] <= 1


def test_a_reranker_has_the_last_word(make: Make) -> None:
    deps = make(reader=WordReader())
    found = rerank(state(**BEFORE, recalled=_recalled([PLANT, BEARINGS])), deps)["candidates"]
    assert [c["passage_id"] for c in found] == [101, 102]
    assert found[0]["score"] == found[0]["scores"]["rerank"]


def test_nothing_recalled_is_nothing_to_rank(make: Make, events: list[ev.Event]) -> None:
    assert rerank(state(**BEFORE), make()) == {"candidates": []}
    assert events == []
