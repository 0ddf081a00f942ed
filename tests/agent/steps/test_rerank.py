"""Step ``rerank``: one list from the phrasings, as the reader reads it; one query through every stage."""

from __future__ import annotations

import pytest

import agent.events as ev
from agent.retrieval.recall import Recall
from agent.state import Recalled
from agent.steps.inspection import RANKED, inspect
from agent.steps.rerank import POSSIBLE, read, rerank
from models.protocols import Reading
from tests.agent.made import candidate, only, span, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import HashEmbedder, WordReader
from traces.library import Library
from traces.records import Scope

QUESTION = "Who supplies ceramic bearings to Orlavane?"
BEARINGS = candidate(101, "Tolvang makes ceramic bearings for Orlavane.", scores={"vector": 0.4})
PLANT = candidate(102, "A plant burned.", scores={"vector": 0.6})
BEFORE = {"plan": [step(QUESTION)], "position": 0, "step": 1}


def _recalled(*lists: list[object]) -> list[Recalled]:
    return [Recalled(query=str(i), candidates=found) for i, found in enumerate(lists)]  # type: ignore[typeddict-item]


def test_a_passage_that_two_phrasings_brought_is_there_once_with_its_best_scores(make: Make) -> None:
    other = candidate(103, "Nothing else.")
    better = candidate(101, BEARINGS["text"], scores={"vector": 0.7, "keyword": 2.0})
    recalled = _recalled([PLANT, BEARINGS], [other, better])
    found = rerank(state(**BEFORE, recalled=recalled), make())["candidates"]
    assert sorted(c["passage_id"] for c in found) == [101, 102, 103]
    assert found[0]["scores"] | {"rerank": 0} == {"vector": 0.7, "keyword": 2.0, "rerank": 0}
    found = rerank(state(**BEFORE, recalled=recalled), make(search_limit=1))["candidates"]
    assert [c["passage_id"] for c in found] == [101], "it is read where not all can be"


def test_the_most_probable_passage_comes_first(make: Make, events: Events) -> None:
    found = rerank(state(**BEFORE, recalled=_recalled([PLANT, BEARINGS])), make())["candidates"]
    assert [c["passage_id"] for c in found] == [101, 102]
    assert all(c["score"] == c["scores"]["rerank"] for c in found)
    (event,) = only(events, ev.Reranked)
    assert (event.reranker, event.order) == ("words", [101, 102])
    assert event.scores == [round(c["score"], 5) for c in found]


@pytest.mark.parametrize(
    ("probabilities", "order"),
    [([0.1, 0.0, 0.2, 0.3], [1, 4, 3, 2]), ([0.1, 0.0, 0.2, 0.6], [4, 3, 1, 2])],
)
def test_where_no_passage_is_likely_the_order_of_the_search_counts_too(
    monkeypatch: pytest.MonkeyPatch, probabilities: list[float], order: list[int]
) -> None:
    """The probabilities keep their places."""
    reader = WordReader()
    monkeypatch.setattr(reader, "read", lambda _asked, _passages: [Reading(p, ()) for p in probabilities])
    ranked = read(reader, QUESTION, [candidate(number, "It buys bearings.") for number in range(1, 5)])
    assert [c["passage_id"] for c in ranked] == order
    assert [c["score"] for c in ranked] == sorted(probabilities, reverse=True)


def test_marked_words_come_with_the_sentence_or_the_row_they_stand_in(make: Make) -> None:
    """Read against the step's question, not the query."""
    table = candidate(103, "In millions | 2024 | 2023\nServices | Tolvang | 214.9", kind="table")
    deps = make(reader=WordReader({QUESTION: ("Tolvang", 0.87654)}))
    searched = state(**BEFORE, query="something else", recalled=_recalled([PLANT, BEARINGS, table]))
    marked = {c["passage_id"]: c["spans"] for c in rerank(searched, deps)["candidates"]}
    assert marked[101] == [span("Tolvang", 0.8765, BEARINGS["text"])]
    assert [one["unit"] for one in marked[103]] == ["Services: Tolvang (2024), 214.9 (2023)"]
    assert marked[102] == []


@pytest.mark.parametrize(("question", "order"), [("鸡翅烤多久？", [1, 3, 2]), ("Wie lange?", [3, 1, 2])])
def test_in_another_script_the_keywords_rank_too(question: str, order: list[int]) -> None:
    passages = [
        candidate(1, "鸡翅的做法", scores={"keyword": 3.0}),
        candidate(2, "猪肉的安全温度", scores={"keyword": 1.0}),
        candidate(3, "微波炉的使用"),
    ]
    found = read(WordReader({question: ("微波炉", 0.95)}), question, passages)
    assert [c["passage_id"] for c in found] == order
    assert found[0]["score"] == (POSSIBLE if order[0] == 1 else 0.95)


def test_of_an_english_question_words_of_another_language_are_not_marked() -> None:
    letter = "Unser Techniker, Herr Jansen, kommt am 20. Januar zum ersten Mal zu Ihnen in die Wohnung."
    question, marks = "Who looks after the waiting list?", ("Herr Jansen", 0.9)
    (found,) = read(WordReader({question: marks}), question, [candidate(1, letter)])
    assert found["spans"] == []
    german = "Wer kommt im Januar zum ersten Mal in die Wohnung?"
    (found,) = read(WordReader({german: marks}), german, [candidate(1, letter)])
    assert [one["text"] for one in found["spans"]] == ["Herr Jansen"]


QUERY = "What halted production at the Brevnes plant of Tolvang Ceramics?"


def test_every_ranking_gives_each_passage_its_rank(library: Library, embedder: HashEmbedder) -> None:
    recall = Recall(library, embedder)
    staged = inspect(QUERY, Scope(), recall, WordReader())
    assert staged[0].passage.document == "fire"
    assert staged[0].ranks.keys() == set(RANKED)
    for stage in ("vector", "keyword", "fused", "rerank"):
        ranked = sorted((one for one in staged if stage in one.ranks), key=lambda one: one.ranks[stage])
        assert [one.ranks[stage] for one in ranked] == list(range(1, len(ranked) + 1))
        scores = [one.scores[stage] for one in ranked]
        assert scores == sorted(scores, reverse=True)
    unknown = next(one for one in staged if one.passage.document == "launch")
    assert "keyword" not in unknown.ranks, "it shares no word with the query"
    probabilities = [one.probability for one in staged]
    assert probabilities == sorted(probabilities, reverse=True)
    assert [staged[0].grade, staged[-1].grade] == ["correct", "incorrect"]
