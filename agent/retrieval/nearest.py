"""Exact nearest neighbours: a collection's vectors as one matrix, read once and kept per generation.

The store is opened anew for every search, and DuckDB then reads and unpacks all vectors again: at 100,000
chunks some hundred milliseconds, where going through a matrix in memory takes ten. An approximate index
(HNSW, IVF) would stand in `VectorIndex`, as another way to the candidates that are then scored exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agent.retrieval.kept import Kept, kept
from models.protocols import Vectors
from traces.library import Library
from traces.records import Generation, Scope

_ROUNDING: Final = 1e-4
"""More than single precision loses in an inner product of unit vectors of a few thousand dimensions."""

_FEW: Final = 0.2
"""Below this share of rows it is quicker to copy them out than to go through them all."""


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
        """``(chunk id, inner product)`` of the ``limit`` nearest; of equals the smaller ids.

        Single precision may order two that are nearly alike wrongly, or two equal ones by where they stand.
        So those that may be among the nearest are scored again in double precision.

        Args:
            query: Shape ``(dimensions,)``, unit length.
            within: Chunk ids to look at, ascending; None for all.
            limit: How many to return.
        """
        if not len(self._ids):
            return []
        rows = None if within is None else places(self._ids, within)
        # Row by row: it waits for memory in any case, and a product spread over threads waits for each of
        # them besides, where a language model has the cores.
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
        """Chunk id to vector, of those that the collection has."""
        rows = places(self._ids, np.unique(np.array([*ids], dtype=np.int64)))
        return dict(zip(self._ids[rows].tolist(), self._vectors[rows], strict=True))


class VectorIndexes:
    """The vectors of a library that one model has made, loaded per collection. Thread-safe.

    Args:
        library: Where they are stored.
        embedder: Name of the model that made them.
    """

    def __init__(self, library: Library, embedder: str) -> None:
        self._library = library
        self._embedder = embedder
        self._kept: Kept[VectorIndex] = kept(library.path, ("vectors", embedder))

    def nearest(
        self, query: Vectors, scope: Scope, within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """``(chunk id, inner product)`` of the ``limit`` nearest chunks within ``scope``. Exact.

        Args:
            query: Shape ``(dimensions,)``, unit length; so the inner product is the cosine.
            scope: Where to look.
            within: The chunks of ``scope``, ascending, where it restricts to less than collections.
            limit: How many to return.
        """
        hits: list[tuple[int, float]] = []
        for index in self._indexes(scope.collections):
            hits.extend(index.nearest(query, within, limit))
        return sorted(hits, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def vectors(self, ids: Sequence[int], collections: Sequence[str]) -> dict[int, Vectors]:
        """Chunk id to vector; chunks that are gone, or have none yet, are left out.

        Args:
            ids: Chunk ids.
            collections: Names of those that hold them; all if empty.
        """
        found: dict[int, Vectors] = {}
        for index in self._indexes(collections):
            found.update(index.vectors(ids))
        return found

    def ready(self, collection: str, generation: Generation) -> bool:
        """Whether a search of the collection need not load its vectors first.

        Args:
            collection: Its name.
            generation: As `traces.library.Library.vector_generations` tells it.
        """
        return self._kept.has(collection, generation)

    def load(self, collection: str, generation: Generation) -> None:
        """Load the vectors of a collection, if it is not ready."""
        self._index(collection, generation)

    def _indexes(self, collections: Sequence[str]) -> list[VectorIndex]:
        with self._library.together():
            generations = self._library.vector_generations(collections)
            return [self._index(name, generation) for name, generation in generations.items()]

    def _index(self, collection: str, generation: Generation) -> VectorIndex:
        def load() -> VectorIndex:
            return VectorIndex(*self._library.collection_vectors(collection, self._embedder))

        return self._kept.get(collection, generation, load)


def places(
    ascending: npt.NDArray[np.integer[Any]], wanted: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """Where the wanted numbers stand among the ascending ones; those that do not are left out."""
    at = np.searchsorted(ascending, wanted)
    at, wanted = at[at < len(ascending)], wanted[at < len(ascending)]
    return np.asarray(at[ascending[at] == wanted])
