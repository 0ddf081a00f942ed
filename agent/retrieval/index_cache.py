"""Search indexes by collection, each valid until its collection changes.

They belong to the process, not to a run, so the next run of a session uses the indexes that are loaded.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from traces.records import Generation

T = TypeVar("T")


@lru_cache(maxsize=4)  # keyword and vector indexes of the last two stores
def _cache(_store: Path, _kind: Hashable) -> tuple[threading.Lock, dict[str, tuple[Generation, Any]]]:
    """The process's indexes of one kind and store by collection, and the lock for loading them."""
    return threading.Lock(), {}


class Indexes(ABC, Generic[T]):
    """The indexes of a library, one for each collection, built on first use. Thread-safe."""

    def __init__(self, store: Path, kind: Hashable) -> None:
        self._lock, self._loaded = _cache(store, kind)

    @abstractmethod
    def _build(self, collection: str) -> T:
        """Build the index of a collection from its current content."""

    def ready(self, collection: str, generation: Generation) -> bool:
        """Whether the index of this generation of the collection is loaded."""
        index = self._loaded.get(collection)
        return index is not None and index[0] == generation

    def load(self, collection: str, generation: Generation) -> T:
        """The collection's index, built if it is not ready.

        ``generation`` is from `traces.library.Library.generations`, read before the content is.
        """
        with self._lock:
            if not self.ready(collection, generation):
                self._loaded.pop(collection, None)  # beforehand, because two may not fit into memory
                self._loaded[collection] = generation, self._build(collection)
            index: T = self._loaded[collection][1]
            return index
