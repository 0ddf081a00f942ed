"""Exact nearest neighbours: a collection's vectors as one matrix, read once and kept per generation.

Each search opens the store, and DuckDB would then read and unpack all vectors again: at 100,000 chunks that
takes some hundred milliseconds, and a matrix in memory ten. An approximate index (HNSW, IVF) would belong
in `VectorIndex`, to choose the candidates that are then scored exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agent.retrieval.index_cache import Indexes
from models.protocols import Vectors
from traces.library import Library
from traces.records import Scope

_ROUNDING: Final = 1e-4
"""More than the error of an inner product of long unit vectors in single precision."""

_FEW: Final = 0.2
"""Below this share of rows it is faster to copy them out than to multiply all."""


class VectorIndex:
    """The vectors of one collection.

    Args:
        ids: Chunk ids, ascending.
        vectors: Shape ``(len(ids), dimensions)``, unit length each.
    """

    def __init__(self, ids: npt.NDArray[np.int64], vectors: Vectors) -> None:
        self._ids = ids
        self._vectors = vectors

    def nearest(
        self, query: Vectors, within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """``(chunk id, inner product)`` of the ``limit`` nearest; equal ones are ordered by id.

        Single precision may order nearly equal vectors wrongly, so all candidates are scored again in
        double precision.

        Args:
            query: Shape ``(dimensions,)``, unit length.
            within: Ascending chunk ids to search; None for all.
            limit: How many to return.
        """
        if not len(self._ids):
            return []
        rows = None if within is None else _places(self._ids, within)
        # Row by row: memory is the bottleneck, and a product spread over threads would wait for cores that
        # the language model uses.
        if rows is None:
            near = np.vecdot(self._vectors, query)
        elif len(rows) < _FEW * len(self._ids):
            near = np.vecdot(self._vectors[rows], query)
        else:
            near = np.vecdot(self._vectors, query)[rows]
        if len(near) > limit:
            last = np.partition(near, len(near) - limit)[len(near) - limit]
            candidates = np.flatnonzero(near >= last - _ROUNDING)
        else:
            candidates = np.arange(len(near))
        if rows is not None:
            candidates = rows[candidates]
        exact = (self._vectors[candidates].astype(np.float64) * query).sum(axis=1)
        ids = self._ids[candidates]
        order = np.lexsort((ids, -exact))[:limit]
        return list(zip(ids[order].tolist(), exact[order].tolist(), strict=True))

    def vectors(self, ids: Iterable[int]) -> dict[int, Vectors]:
        """Chunk id to vector, for the ids that the collection has."""
        rows = _places(self._ids, np.unique(np.array([*ids], dtype=np.int64)))
        return dict(zip(self._ids[rows].tolist(), self._vectors[rows], strict=True))


class VectorIndexes(Indexes[VectorIndex]):
    """The vectors that one model made for a library, loaded per collection. Thread-safe."""

    def __init__(self, library: Library, embedder: str) -> None:
        super().__init__(library.path, ("vectors", embedder))
        self._library = library
        self._embedder = embedder

    def nearest(
        self, query: Vectors, scope: Scope, within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """The ``limit`` nearest chunks within ``scope``, as `VectorIndex.nearest`.

        ``within`` are the ascending chunk ids of ``scope``, if it is narrower than its collections.
        """
        hits: list[tuple[int, float]] = []
        for index in self._indexes(scope.collections):
            hits.extend(index.nearest(query, within, limit))
        return sorted(hits, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def vectors(self, ids: Sequence[int], collections: Sequence[str]) -> dict[int, Vectors]:
        """Chunk id to vector, for those of the collections (all if empty) that have one."""
        found: dict[int, Vectors] = {}
        for index in self._indexes(collections):
            found.update(index.vectors(ids))
        return found

    def _indexes(self, collections: Sequence[str]) -> list[VectorIndex]:
        with self._library.together():
            generations = self._library.vector_generations(collections)
            return [self.load(name, generation) for name, generation in generations.items()]

    def _made(self, collection: str) -> VectorIndex:
        return VectorIndex(*self._library.collection_vectors(collection, self._embedder))


def holds(
    ascending: npt.NDArray[np.integer[Any]], wanted: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.bool_]:
    """Which of the ``wanted`` numbers are among the ascending ones."""
    if not len(ascending):
        return np.zeros(len(wanted), dtype=np.bool_)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.asarray(ascending[at] == wanted)


def _places(
    ascending: npt.NDArray[np.integer[Any]], wanted: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.intp]:
    """The indices of the ``wanted`` numbers among the ascending ones, without those not found."""
    return np.searchsorted(ascending, wanted[holds(ascending, wanted)])
