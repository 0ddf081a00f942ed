"""A store of 10,000 runs and 1,000,000 passages: opening and searching it; the memory of each main job."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from agent.documents.sample_library import root
from tests.benchmarks.process import beside_others, run
from tests.benchmarks.table import Row, Table
from tests.policy.training.made import collected
from tests.traces import many_runs
from traces.store import Store

_CHUNKS = 1_000_000
_A_DOCUMENT = 20  # passages
_TIMES = 5
_OPEN = """
import hashlib, json, sys, time
from pathlib import Path
import duckdb
import numpy as np
from agent.retrieval.recall import Recall
from traces.library import Library
from traces.records import Scope
from traces.runs import Runs
from traces.store import Store

store = Store(Path(sys.argv[1]))
took = {}
def timed(name, work):
    began = time.perf_counter()
    work()
    took[name] = 1000 * (time.perf_counter() - began)

timed("open", lambda: store.connect().__enter__().close())
timed("runs", lambda: Runs(Store(store.path)).recent())
library = Library(Store(store.path))
timed("collections", library.collections)
class Embedder:
    name = "made"
    def embed_query(self, _text):
        return np.eye(1, 384, dtype=np.float32)[0]
recall, word = Recall(library, Embedder(), 10), hashlib.md5(b"7").hexdigest()
timed("first", lambda: recall.search(word, "hybrid", [Scope()], 10))  # builds the indexes
for strategy in ("vector", "keyword"):
    timed(strategy, lambda: recall.search(word, strategy, [Scope()], 10))
print(json.dumps(took))
"""


def opening() -> Table:
    """Each opening is by a process of its own."""
    notes = beside_others()
    with tempfile.TemporaryDirectory(prefix="deepthink-opening-") as place:
        folder = Path(place)
        memory = _memory(folder)  # first: a child's peak begins at what this process holds
        store = _large(folder / "large.duckdb")
        size = store.stat().st_size / 1e9
        command = [sys.executable, "-c", _OPEN, str(store)]
        took = [json.loads(subprocess.check_output(command, text=True)) for _ in range(_TIMES)]
        rows = [
            Row(what, f"{statistics.median(each[name] for each in took):.0f} ms")
            for name, what in (
                ("open", f"opening a store of 10,000 runs and {_CHUNKS:,} passages ({size:.1f} GB)"),
                ("runs", "opening it and listing the latest runs"),
                ("collections", "opening it and counting the passages of each collection"),
                ("first", "its first search, the indexes included"),
                ("vector", "each further search by vectors, exact"),
                ("keyword", "each further search by keywords"),
            )
        ]
    title = "Opening and searching a large store; memory of each main job"
    return Table("opening", title, [*rows, *memory], [*notes, *_NOTES])


_NOTES = [
    f"Medians of {_TIMES} processes, DuckDB imported. The rows are made by SQL: four collections, vectors "
    "of 384 numbers, one word a passage.",
    "Peak memory is the largest resident memory of a process of the command line: the sample library is "
    "read, asked with qwen2.5-coder-0.5b, and a forest is trained on 70 made questions.",
]


def _large(path: Path) -> Path:
    store = Store(path)
    many_runs.fill(store)
    with store.transaction() as db:
        db.execute("INSERT INTO library VALUES ('made', 384, 0)")
        db.execute("INSERT INTO collections SELECT 'c' || i, '', 1, now()::TIMESTAMP FROM range(4) t (i)")
        db.execute(
            """
            INSERT INTO documents BY NAME
            SELECT i AS id, 'c' || i % 4 AS collection, '/made/' || i AS source, i || '.md' AS name,
                'Document ' || i AS title, 'text/markdown' AS media_type, md5(i::VARCHAR) AS sha256,
                9000 AS bytes, '' AS date, 1.0 AS coverage, '[]' AS notices, 1 AS reader,
                now()::TIMESTAMP AS ingested
            FROM range(?) t (i)
            """,
            [_CHUNKS // _A_DOCUMENT],
        )
        db.execute(
            f"""
            INSERT INTO chunks SELECT i, i // {_A_DOCUMENT}, i % {_A_DOCUMENT}, 'text', 'Part I', NULL,
                repeat(md5(i::VARCHAR) || ' ', 14), repeat(md5(i::VARCHAR) || ' ', 9) FROM range(?) t (i)
            """,
            [_CHUNKS],
        )
        db.execute("CREATE TABLE vectors (chunk_id BIGINT NOT NULL, vector FLOAT[384] NOT NULL)")
        db.execute(
            """
            CREATE TEMP TABLE drawn AS
            SELECT i, list_transform(range(384), lambda n: random() - 0.5)::FLOAT[384] AS vector
            FROM range(1000) t (i)
            """
        )
        db.execute(
            "INSERT INTO vectors SELECT t.i, vector FROM range(?) t (i) JOIN drawn ON drawn.i = t.i % 1000",
            [_CHUNKS],
        )
    return path


def _memory(folder: Path) -> list[Row]:
    data = collected(folder / "collected.duckdb", 70)
    jobs = {
        "ingest": ["ingest", str(root()), "--collection", "sample"],
        "ask": ["ask", "Who makes Orlavane's ceramic bearings?", "--model", "qwen2.5-coder-0.5b"],
        "sync, with nothing new": ["sync"],
        "train-policy, a forest": ["train-policy", "--method", "forest", "--from", str(data)],
    }
    return [
        Row(f"peak memory: {name}", f"{run([sys.executable, '-m', 'tui', *command]).peak:.2f} GB")
        for name, command in jobs.items()
    ]
