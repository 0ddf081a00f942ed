"""One query through every stage of the funnel, side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.documents.ingest import ingest
from agent.retrieval.recall import Recall
from agent.steps.inspection import RANKED, inspect
from tests.scripted import HashEmbedder, WordReader
from traces.library import Library
from traces.records import Scope
from traces.store import Store

TEXTS = {
    "fire.md": "A fire at the Brevnes plant of Tolvang Ceramics halted production in May.",
    "supplier.md": "Orlavane buys all of its ceramic bearings from Tolvang Ceramics.",
    "cash.md": "At the end of June the company held 412 million in cash.",
}
QUERY = "Which plant of Tolvang Ceramics had a fire?"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    store = Store(tmp_path / "store.duckdb")
    list(ingest([folder], collection="facts", store=store, embedder=HashEmbedder()))
    return Library(store)


def test_every_ranking_gives_each_passage_its_rank(library: Library) -> None:
    recall = Recall(library, HashEmbedder())
    staged = inspect(QUERY, "hybrid", Scope(), recall=recall, reader=WordReader())
    assert staged[0].passage.document == "fire.md"
    assert staged[0].ranks == dict.fromkeys(RANKED, 1)
    for stage in ("vector", "keyword", "fused", "rerank"):
        ranked = sorted((one for one in staged if stage in one.ranks), key=lambda one: one.ranks[stage])
        assert [one.ranks[stage] for one in ranked] == list(range(1, len(ranked) + 1))
        assert [one.scores[stage] for one in ranked] == sorted(
            (one.scores[stage] for one in ranked), reverse=True
        )
    unknown = next(one for one in staged if one.passage.document == "cash.md")
    assert "keyword" not in unknown.ranks, "it shares no word with the query"
    assert [one.probability for one in staged] == sorted((o.probability for o in staged), reverse=True)
    assert [staged[0].grade, staged[-1].grade] == ["correct", "ambiguous"]


def test_only_the_rankings_of_the_strategy_are_there(library: Library) -> None:
    recall = Recall(library, HashEmbedder())
    words = inspect(QUERY, "keyword", Scope(), recall=recall, reader=WordReader())
    assert {one.passage.document for one in words} == {"fire.md", "supplier.md"}
    assert set(words[0].ranks) == {"vector", "keyword", "rerank"}
    near = inspect(QUERY, "vector", Scope(), recall=recall, reader=WordReader(), limit=2)
    assert [set(one.ranks) for one in near] == [{"vector", "rerank"}] * 2
