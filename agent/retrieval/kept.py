"""What is made of a collection to search it, kept while the collection does not change.

Kept per process, not per run: a run of a session searches what the run before it has loaded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from traces.records import Generation

T = TypeVar("T")


class Kept(Generic[T]):
    """One thing per collection, made when it is first asked for and again after a change. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, tuple[Generation, T]] = {}

    def has(self, collection: str, generation: Generation) -> bool:
        """Whether something was made of this generation of the collection."""
        have = self._made.get(collection)
        return have is not None and have[0] == generation

    def get(self, collection: str, generation: Generation, make: Callable[[], T]) -> T:
        """What was made of this generation of the collection.

        Args:
            collection: Its name.
            generation: As `traces.library.Library.generations` tells it, read before ``make`` reads.
            make: Called if nothing was made of this generation yet.
        """
        with self._lock:
            have = self._made.get(collection)
            if have is not None and have[0] == generation:
                return have[1]
            del have  # of a large collection the old and the new need not fit into memory together
            self._made.pop(collection, None)
            made = make()
            self._made[collection] = (generation, made)
            return made


_KEPT: Final = 4  # two things, of two stores: a process works with one and may glance at another
_kept: OrderedDict[tuple[Path, Hashable], Kept[Any]] = OrderedDict()
_keeping = threading.Lock()


def kept(store: Path, what: Hashable) -> Kept[Any]:
    """What the process keeps of the collections of a store; of several stores, of the last ones used.

    Args:
        store: Its file.
        what: Which thing.
    """
    with _keeping:
        held = _kept.setdefault((store, what), Kept())
        _kept.move_to_end((store, what))
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
        return held
