"""The posting lists, where a corpus is more than one batch."""

from __future__ import annotations

import random

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from agent.retrieval import postings
from agent.retrieval.postings import Postings


@pytest.mark.parametrize("batch", [1, 7, 1_000])
def test_scores_are_rank_bm25s_to_the_last_bit(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "_BATCH", batch)
    draw = random.Random(batch)
    words = [f"w{int(draw.paretovariate(0.5))}" for _ in range(3_000)]
    documents = [draw.choices(words, k=draw.randrange(60)) for _ in range(120)]
    documents[5] += ["often"] * 300  # more than one byte holds
    index, expected = Postings(map(" ".join, documents)), BM25Okapi(documents)
    for query in (["often"], ["w1", "w2", "w1", "unknown"], draw.choices(words, k=9)):
        rows, scores = index.scores(query)
        assert rows.tolist() == [i for i, d in enumerate(documents) if not set(query).isdisjoint(d)]
        assert np.array_equal(scores, expected.get_scores(query)[rows])


def test_who_holds_a_term() -> None:
    index = Postings(["a b a", "", "b", "a"])
    assert (index.documents, index.holding("a").tolist(), index.holding("z").tolist()) == (4, [0, 3], [])
    assert Postings([]).documents == 0
