"""Exact nearest neighbours; what is kept of a collection, and until when."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agent.retrieval.nearest import Indexes, VectorIndex
from models.protocols import Vectors
from traces.library import Library
from traces.store import Store


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
