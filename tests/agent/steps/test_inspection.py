"""One query through every stage of the funnel, side by side."""

from __future__ import annotations

from agent.retrieval.recall import Recall
from agent.steps.inspection import RANKED, inspect
from tests.scripted import HashEmbedder, WordReader
from traces.library import Library
from traces.records import Scope

QUERY = "What halted production at the Brevnes plant of Tolvang Ceramics?"


def test_every_ranking_gives_each_passage_its_rank(library: Library, embedder: HashEmbedder) -> None:
    recall = Recall(library, embedder)
    staged = inspect(QUERY, "hybrid", Scope(), recall=recall, reader=WordReader())
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


def test_only_the_rankings_of_the_strategy_are_there(library: Library, embedder: HashEmbedder) -> None:
    recall = Recall(library, embedder)
    words = inspect(QUERY, "keyword", Scope(), recall=recall, reader=WordReader())
    assert {one.passage.document for one in words} == {"fire", "annual-report"}
    assert set(words[0].ranks) == {"vector", "keyword", "rerank"}
    near = inspect(QUERY, "vector", Scope(), recall=recall, reader=WordReader(), limit=2)
    assert [set(one.ranks) for one in near] == [{"vector", "rerank"}] * 2
