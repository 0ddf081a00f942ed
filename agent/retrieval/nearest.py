"""Exact nearest neighbours: a collection's vectors as one matrix, read once per generation and kept.

Each search opens the store, and DuckDB would then read and unpack all vectors again: at 100,000 chunks that
takes a few hundred milliseconds, with a matrix in memory ten. An approximate index (HNSW, IVF) would belong
in `VectorIndex`, to choose the candidates that are then scored exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from agent.retrieval.fusion import highest
from models.protocols import Vectors
from traces.library import Library
from traces.records import Generation

_ROUNDING: Final = 1e-4
"""An upper bound of the error of an inner product of long unit vectors in single precision."""

_COPY_SHARE: Final = 0.2
"""The share of rows below which it is faster to copy them than to multiply all."""

T = TypeVar("T")


@lru_cache(maxsize=4)  # keyword and vector indexes of the last two stores
def _cache(_store: Path, _kind: Hashable) -> tuple[threading.Lock, dict[str, tuple[Generation, Any]]]:
    """The process's indexes of one kind and store by collection, and the lock for loading them."""
    return threading.Lock(), {}


class Indexes(Generic[T]):
    """The indexes of a library, one for each collection, valid until it changes. Thread-safe.

    They belong to the process, so the next run of a session uses those that are loaded. ``build`` makes the
    index of a collection from its current content, on first use.
    """

    def __init__(self, library: Library, kind: Hashable, build: Callable[[str], T]) -> None:
        self._build = build
        self._lock, self._loaded = _cache(library.path, kind)

    def loaded(self, collection: str, generation: Generation) -> T | None:
        """The index of this generation of the collection, if it is loaded."""
        loaded_generation, index = self._loaded.get(collection, (None, None))
        return index if loaded_generation == generation else None

    def load(self, collection: str, generation: Generation) -> T:
        """The collection's index, built if it is not loaded.

        ``generation`` is from `traces.library.Library.generations`, read before the content is.
        """
        with self._lock:
            index = self.loaded(collection, generation)
            if index is None:
                self._loaded.pop(collection, None)  # beforehand, because two may not fit into memory
                index = self._build(collection)
                self._loaded[collection] = generation, index
            return index


class VectorIndex:
    """The vectors of one collection, shape ``(len(ids), dimensions)``, unit length each; ids ascend."""

    def __init__(self, ids: npt.NDArray[np.int64], vectors: Vectors) -> None:
        self._ids = ids
        self._vectors = vectors

    def nearest(
        self, query: Vectors, within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """``(chunk id, inner product)`` of the ``limit`` nearest chunks; ties are ordered by id.

        Single precision may order nearly equal vectors wrongly, so all candidates are scored again in
        double precision. ``query`` has shape ``(dimensions,)`` and unit length; ``within`` contains the
        ascending chunk ids to search, None for all.
        """
        if not len(self._ids):
            return []
        rows = np.arange(len(self._ids)) if within is None else np.flatnonzero(np.isin(self._ids, within))
        # Row by row: memory is the bottleneck, and a product spread over threads would wait for cores that
        # the language model uses.
        if len(rows) < _COPY_SHARE * len(self._ids):
            near = np.vecdot(self._vectors[rows], query)
        else:
            near = np.vecdot(self._vectors, query)[rows]
        if len(near) > limit:
            last = np.partition(near, len(near) - limit)[len(near) - limit]
            rows = rows[near >= last - _ROUNDING]
        exact = (self._vectors[rows].astype(np.float64) * query).sum(axis=1)
        return highest(self._ids[rows], exact, limit)

    def vectors(self, ids: Iterable[int]) -> dict[int, Vectors]:
        """Chunk id to vector, for the ids that the collection has."""
        if not len(self._ids):
            return {}
        wanted = np.array([*ids], dtype=np.int64)
        rows = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        rows = rows[self._ids[rows] == wanted]
        return dict(zip(self._ids[rows].tolist(), self._vectors[rows], strict=True))
