"""A cache of search indexes by collection, each valid until its collection changes.

It belongs to the process, not to a run, so the next run of a session uses the indexes that are loaded.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from traces.records import Generation

T = TypeVar("T")


class IndexCache(Generic[T]):
    """One index for each collection, built on first use and again after a change. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indexes: dict[str, tuple[Generation, T]] = {}

    def has(self, collection: str, generation: Generation) -> bool:
        """Whether the index of this generation of the collection is in the cache."""
        cached = self._indexes.get(collection)
        return cached is not None and cached[0] == generation

    def get(self, collection: str, generation: Generation, make: Callable[[], T]) -> T:
        """The index of this generation of the collection.

        ``generation`` is from `traces.library.Library.generations`, read before ``make`` reads.
        """
        with self._lock:
            if self.has(collection, generation):
                return self._indexes[collection][1]
            self._indexes.pop(collection, None)  # beforehand, because two indexes may not fit into memory
            index = make()
            self._indexes[collection] = (generation, index)
            return index


_MOST_CACHES: Final = 4  # keyword and vector indexes of two stores
_caches: OrderedDict[tuple[Path, Hashable], IndexCache[Any]] = OrderedDict()
_lock = threading.Lock()


def index_cache(store: Path, kind: Hashable) -> IndexCache[Any]:
    """The process's cache for one kind of index of a store; those of the last stores used are kept."""
    with _lock:
        cache = _caches.setdefault((store, kind), IndexCache())
        _caches.move_to_end((store, kind))
        while len(_caches) > _MOST_CACHES:
            _caches.popitem(last=False)
        return cache


class Indexes(ABC, Generic[T]):
    """The indexes of a library, one for each collection. Thread-safe."""

    def __init__(self, store: Path, kind: Hashable) -> None:
        self._cache: IndexCache[T] = index_cache(store, kind)

    @abstractmethod
    def _build(self, collection: str) -> T:
        """Build the index of a collection from its current content."""

    def ready(self, collection: str, generation: Generation) -> bool:
        """Whether the collection's index is loaded."""
        return self._cache.has(collection, generation)

    def load(self, collection: str, generation: Generation) -> T:
        """The collection's index, loaded if it is not ready."""
        return self._cache.get(collection, generation, lambda: self._build(collection))
