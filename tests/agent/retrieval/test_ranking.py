"""What ranks passages: keywords as rank-bm25, exact nearest neighbours, their fusion as in the papers."""

from __future__ import annotations

import random
from datetime import datetime
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from agent.retrieval import fusion, keyword
from agent.retrieval.fusion import best_first, maximal_marginal_relevance, reciprocal_rank_fusion
from agent.retrieval.keyword import KeywordIndex
from agent.retrieval.nearest import Indexes, VectorIndex
from models.protocols import Vectors
from traces.library import Library
from traces.store import Store


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


def _unit(rows: int, seed: int) -> Vectors:
    drawn = np.random.default_rng(seed).normal(size=(rows, 24)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@given(st.integers(0, 60), st.integers(0, 9), st.none() | st.sets(st.integers(0, 200)), st.integers(1, 12))
def test_nearest_is_exact(rows: int, seed: int, within: set[int] | None, limit: int) -> None:
    vectors = _unit(rows, seed)
    vectors[rows // 2 :] = vectors[: rows - rows // 2]  # nearly every one stands twice
    ids = np.arange(rows, dtype=np.int64) * 3 + 1
    (query,) = _unit(1, seed + 100)
    inside = None if within is None else np.array(sorted(within), dtype=np.int64)
    found = VectorIndex(ids, vectors).nearest(query, inside, limit)
    scores = (vectors.astype(np.float64) * query).sum(axis=1).tolist()
    expected = sorted(
        ((i, s) for i, s in zip(ids.tolist(), scores, strict=True) if within is None or i in within),
        key=lambda pair: (-pair[1], pair[0]),
    )
    assert found == expected[:limit]


def test_an_index_is_built_once_for_each_generation_and_shared_by_all_of_its_store(tmp_path: Path) -> None:
    numbers = count(1)

    def indexes(file: str, kind: str) -> Indexes[int]:
        return Indexes(Library(Store(tmp_path / file)), kind, lambda _collection: next(numbers))

    keyword, day = indexes("a", "keyword"), datetime(2026, 1, 1)
    assert [keyword.load("c", (day, n)) for n in (1, 1, 2, 2)] == [1, 1, 2, 2]
    assert keyword.load("c", (datetime(2026, 1, 2), 2)) == 3
    assert keyword.load("other", (day, 2)) == 4
    assert indexes("a", "keyword").loaded("other", (day, 2)) == 4
    assert indexes("a", "vectors").loaded("other", (day, 2)) is None
    assert indexes("b", "keyword").loaded("other", (day, 2)) is None


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    assert reciprocal_rank_fusion([[1], [2]], [0.5, 2]) == pytest.approx({1: 0.5 / 61, 2: 2 / 61})
    scores = reciprocal_rank_fusion([[1, 2, 3], [3, 1]])
    assert scores == pytest.approx({1: 1 / 61 + 1 / 62, 2: 1 / 62, 3: 1 / 63 + 1 / 61})
    assert best_first(scores) == [1, 3, 2]
    assert best_first({7: 1.0, 3: 1.0, 5: 2.0}) == [5, 3, 7], "equals by id"


def _at(*degrees: float) -> Vectors:
    """Unit vectors in the plane; the cosine of two is that of the angle between them."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


_QUERY = _at(0)[0]


def test_a_worked_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "LAMBDA", 0.5)
    # The nearest stands at 10°, its near-double at 12°, another view at -40° and something off at 80°.
    assert maximal_marginal_relevance(_QUERY, np.zeros((0, 2), np.float32)) == []
    picked = maximal_marginal_relevance(_QUERY, _at(10, 12, -40, 80))
    assert [row for row, _ in picked] == [0, 2, 1, 3]
    assert [value for _, value in picked] == pytest.approx(
        [
            0.5 * 0.98481,  # cos 10°; nothing is picked yet
            0.5 * 0.76604 - 0.5 * 0.64279,  # cos 40°, and cos 50° to the first (the double: 0.978 - 0.999)
            0.5 * 0.97815 - 0.5 * 0.99939,  # cos 12°, and cos 2° to the first
            0.5 * 0.17365 - 0.5 * 0.37461,  # cos 80°, and cos 68° to the double, which it is most like
        ],
        abs=1e-4,
    )
