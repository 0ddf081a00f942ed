"""What is kept of a collection, and until when."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from pathlib import Path

from agent.retrieval.nearest import Indexes
from traces.library import Library
from traces.store import Store


def test_an_index_is_built_once_for_each_generation_and_shared_by_all_of_its_store(tmp_path: Path) -> None:
    numbers = count(1)

    def indexes(file: str, kind: str) -> Indexes[int]:
        return Indexes(Library(Store(tmp_path / file)), kind, lambda _collection: next(numbers))

    keyword, day = indexes("a", "keyword"), datetime(2026, 1, 1)
    assert [keyword.load("c", (day, n)) for n in (1, 1, 2, 2)] == [1, 1, 2, 2]
    assert keyword.load("c", (datetime(2026, 1, 2), 2)) == 3
    assert keyword.load("other", (day, 2)) == 4
    assert indexes("a", "keyword").ready("other", (day, 2))
    assert not indexes("a", "vectors").ready("other", (day, 2))
    assert not indexes("b", "keyword").ready("other", (day, 2))
