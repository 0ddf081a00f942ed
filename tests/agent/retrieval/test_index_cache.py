"""What is kept of a collection, and until when."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from agent.retrieval.index_cache import IndexCache, index_cache


def test_made_once_per_generation() -> None:
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    indexes: IndexCache[int] = IndexCache()
    day = datetime(2026, 1, 1)
    assert [indexes.get("c", (day, n), make) for n in (1, 1, 2, 2)] == [0, 0, 1, 1]
    assert indexes.get("c", (datetime(2026, 1, 2), 2), make) == 2
    assert indexes.get("other", (day, 2), make) == 3


def test_the_process_keeps_one_per_store_and_thing(tmp_path: Path) -> None:
    assert index_cache(tmp_path / "a", "keyword") is index_cache(tmp_path / "a", "keyword")
    assert index_cache(tmp_path / "a", "keyword") is not index_cache(tmp_path / "b", "keyword")
    assert index_cache(tmp_path / "a", "keyword") is not index_cache(tmp_path / "a", "vectors")
