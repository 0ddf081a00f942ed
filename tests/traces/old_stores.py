"""Stores as earlier versions wrote them, for the tests of what a migration makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import duckdb

OLD_RUN = """
INSERT INTO runs (id, question, profile, chat_model, embedder, reranker, decider, collections, status,
    stopped_because, answer, started, finished, model_calls, evaluated, reused, generated)
VALUES (?, 'Why?', 'lean', 'chat', 'embedder', '', 'rules', '[]', ?, '', '', TIMESTAMP '2026-05-03', ?,
    0, 0, 0, 0)
"""
"""Inserts a run: its id, its status, when it finished."""


@contextmanager
def old_store(path: Path, version: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty store with the schema of ``version``, to be filled."""
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for script in sorted((files("traces") / "migrations").iterdir(), key=lambda s: s.name):
            if script.name.endswith(".sql") and int(script.name[:4]) <= version:
                db.execute(script.read_text("utf-8"))
                db.execute("INSERT INTO schema_version VALUES (?)", [int(script.name[:4])])
        yield db
