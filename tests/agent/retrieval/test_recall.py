"""The funnel's first stage on a small library."""

from __future__ import annotations

import pytest

from agent.retrieval.keyword import KeywordIndex, KeywordIndexes
from agent.retrieval.recall import STRATEGIES, Recall, Strategy, aim
from models.scripted import HashEmbedder
from traces.library import Library
from traces.records import NewChunk, NewDocument, Scope


@pytest.fixture
def recall(library: Library, embedder: HashEmbedder) -> Recall:
    return Recall(library, embedder)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_the_passage(recall: Recall, strategy: Strategy) -> None:
    hits = recall.search("Who supplies ceramic bearings to Orlavane?", strategy, [Scope()], 3)
    assert "ceramic bearings" in hits[0].passage.text
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)


def test_hybrid_shows_the_score_of_each_stage(recall: Recall) -> None:
    (best, *_) = recall.search("ceramic bearings", "hybrid", [Scope()], 3)
    assert set(best.scores) == {"vector", "keyword", "fused"}
    assert best.score == best.scores["fused"]


def test_a_scope_is_a_hard_filter(recall: Recall) -> None:
    for strategy in STRATEGIES:
        hits = recall.search("ceramic bearings supplier", strategy, [Scope(collections=("news",))], 9)
        assert {h.passage.collection for h in hits} <= {"news"}
    (hit,) = recall.search("Orlavane", "hybrid", [Scope(sections=("Item 2",))], 9)
    assert hit.passage.section == "Item 2"


def test_a_second_scope_lifts_but_does_not_hide(recall: Recall, library: Library) -> None:
    query = "Orlavane industrial heat pumps"
    scopes = aim(library, ["reports", "news"], query, "news", "", hard=False)
    assert scopes == [Scope(("reports", "news")), Scope(("news",))]
    collections = [h.passage.collection for h in recall.search(query, "hybrid", scopes, 9)]
    assert collections[0] == "news"
    assert "reports" in collections


def test_a_hard_aim_keeps_only_what_the_planner_names(library: Library) -> None:
    both = ["reports", "news"]
    assert aim(library, both, "q", "news", "", hard=True) == [Scope(("news",))]
    assert aim(library, both, "q", "", "Item 2", hard=True) == [Scope(("reports", "news"), (), ("Item 2",))]
    assert aim(library, both, "q", "nowhere", "nothing like it", hard=True) == [Scope(("reports", "news"))]


def test_a_collection_that_does_not_exist_holds_nothing(recall: Recall) -> None:
    for strategy in STRATEGIES:
        assert recall.search("ceramic bearings", strategy, [Scope(collections=("nope",))], 3) == []


def test_the_keyword_index_follows_the_library(library: Library, embedder: HashEmbedder) -> None:
    indexes = KeywordIndexes(library)
    assert indexes.search("zeppelin", Scope(), 5) == []
    chunk = NewChunk(0, "text", (), None, "A zeppelin lands", ("zeppelin", "land"))
    document = NewDocument("news", "/z", "z", "Z", "t", "h", 1, None, "", 1.0, (), 1, (chunk,))
    library.put_document(document, embedder.embed_passages(["A zeppelin lands"]), embedder.name)
    assert len(indexes.search("zeppelin", Scope(), 5)) == 1


def test_keyword_search_of_nothing() -> None:
    assert KeywordIndex([]).search(["a"], None) == []
    assert KeywordIndex([(1, "")]).search(["a"], None) == []
    assert KeywordIndex([(1, "a b")]).search([], None) == []
    assert KeywordIndex([(1, "a b"), (2, "c d"), (3, "e f")]).search(["z"], None) == []


def test_keyword_search_puts_the_rarer_term_first() -> None:
    index = KeywordIndex([(1, "common rare"), (2, "common x"), (3, "common y"), (4, "z z")])
    assert next(chunk for chunk, _ in index.search(["common", "rare"], None)) == 1
    assert [chunk for chunk, _ in index.search(["common"], [3])] == [3]
