"""What is kept of a collection, and until when."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from agent.retrieval.index_cache import Indexes


class _Numbered(Indexes[int]):
    """Each index that it builds has the next number."""

    built = 0

    def _build(self, collection: str) -> int:
        self.built += 1
        return self.built


def test_an_index_is_built_once_for_each_generation_and_shared_by_all_of_its_store(tmp_path: Path) -> None:
    indexes, day = _Numbered(tmp_path, "keyword"), datetime(2026, 1, 1)
    assert [indexes.load("c", (day, n)) for n in (1, 1, 2, 2)] == [1, 1, 2, 2]
    assert indexes.load("c", (datetime(2026, 1, 2), 2)) == 3
    assert indexes.load("other", (day, 2)) == 4
    assert _Numbered(tmp_path, "keyword").ready("other", (day, 2))
    assert not _Numbered(tmp_path, "vectors").ready("other", (day, 2))
    assert not _Numbered(tmp_path / "b", "keyword").ready("other", (day, 2))
