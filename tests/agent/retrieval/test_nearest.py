"""Exact nearest neighbours, within a scope and as the library changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retrieval.nearest import VectorIndex, VectorIndexes
from models.protocols import Vectors
from tests.agent.made import put
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Scope


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


def test_the_vectors_follow_the_library(library: Library, embedder: HashEmbedder) -> None:
    indexes = VectorIndexes(library, embedder.name)
    query = embedder.embed_query("A zeppelin lands")
    before = indexes.nearest(query, Scope(("news",)), None, 99)
    document_id = put(library, "z", ["A zeppelin lands"])
    (first, *others) = indexes.nearest(query, Scope(("news",)), None, 99)
    assert first[1] == pytest.approx(1.0)
    assert others == before
    assert set(indexes.vectors([first[0], 999], ["news"])) == {first[0]}
    assert indexes.vectors([first[0]], ["reports"]) == {}
    library.remove_document(document_id)
    assert indexes.nearest(query, Scope(("news",)), None, 99) == before


def test_vectors_of_another_embedder_are_not_near(library: Library) -> None:
    indexes = VectorIndexes(library, "another")
    assert indexes.nearest(np.zeros(3, dtype=np.float32), Scope(), None, 1) == []
    assert indexes.vectors([1, 2], []) == {}
