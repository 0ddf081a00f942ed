"""The keyword index: scores as rank-bm25 gives them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from agent.retrieval import keyword
from agent.retrieval.keyword import KeywordIndex


def test_search_of_nothing() -> None:
    assert KeywordIndex([]).search(["a"], None, 9) == []
    assert KeywordIndex([(1, "")]).search(["a"], None, 9) == []
    assert KeywordIndex([(1, "a b")]).search([], None, 9) == []
    assert KeywordIndex([(1, "a b"), (2, "c d"), (3, "e f")]).search(["z"], None, 9) == []


@pytest.mark.parametrize("batch", [1, 7, 1_000])
def test_scores_are_rank_bm25s_to_the_last_bit(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "_BATCH", batch)
    draw = random.Random(batch)
    words = [f"{draw.choice('wß語𝒜')}{int(draw.paretovariate(0.5))}" for _ in range(3_000)]
    documents = [draw.choices(words, k=draw.randrange(60)) for _ in range(120)]
    documents[5] += ["often"] * 300  # more than one byte holds
    index, expected = KeywordIndex(enumerate(map(" ".join, documents))), BM25Okapi(documents)
    for query in (["often"], ["w1", "ß2", "w1", "unknown"], draw.choices(words, k=9), ["ä\ud800"]):
        scores = expected.get_scores(query).tolist()
        matching = [row for row, document in enumerate(documents) if not set(query).isdisjoint(document)]
        best = sorted(((row, scores[row]) for row in matching), key=lambda pair: (-pair[1], pair[0]))
        assert index.search(query, None, 999) == best
        within = np.array(matching[::2], dtype=np.int64)
        assert index.search(query, within, 3) == [pair for pair in best if pair[0] in within][:3]
