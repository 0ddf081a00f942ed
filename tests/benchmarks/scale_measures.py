"""One measurement of `scale`, as a process of its own, so that its peak memory is its own.

    python -m tests.benchmarks.scale_measures build|query NAME FOLDER

prints one JSON object. FOLDER holds a library made by `scale_library` and its vectors as an array file:
the alternatives are given those, and the keyword terms as they are stored. What ``build`` made is kept in
FOLDER; its seconds are of the processor, since it takes minutes and is not waited for beside nothing else.
``query`` opens it, warms up and times whole queries; `deepthink` goes first, for it notes the questions'
vectors and what is truly nearest.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from agent.retrieval.keyword import KeywordIndexes
from agent.retrieval.nearest import VectorIndexes
from agent.retrieval.recall import Recall, aim
from agent.text.terms import terms
from models.offline import forbid_hubs
from models.protocols import Vectors
from tests.benchmarks.library import embedder
from tests.benchmarks.scale_library import COLLECTIONS, SECTIONS, questions
from traces.library import Library
from traces.records import Scope
from traces.store import Store

NEAREST = 10
_WARM = 3  # queries that are not counted
Found = Sequence[int]  # chunk ids, nearest first


class Measure(Protocol):
    """One library or method."""

    def build(self, folder: Path) -> None:
        """Make what is searched, and keep it in ``folder``."""

    def query(self, folder: Path) -> dict[str, Any]:
        """Milliseconds by what was timed, and what was found."""


class Deepthink:
    """The product: hybrid searches as a run makes them, and its two indexes alone."""

    def build(self, folder: Path) -> None:
        """Nothing: it is built at the first search of a process."""

    def query(self, folder: Path) -> dict[str, Any]:
        """Also how long the first search takes to load and build."""
        asked, model = questions(), embedder()
        vectors = np.stack([model.embed_query(question) for question in asked])
        np.save(folder / "queries.npy", vectors)
        library = Library(_store(folder))
        nearest, keyword = VectorIndexes(library, model.name), KeywordIndexes(library)
        seconds = {
            "vectors": _seconds(lambda: nearest.nearest(vectors[0], Scope(), None, NEAREST)),
            "keywords": _seconds(lambda: keyword.search(asked[0], Scope(), None, NEAREST)),
        }
        recall = Recall(library, model)
        scopes = {
            "section filter": Scope(sections=(SECTIONS[1],)),
            "collection filter": Scope(collections=COLLECTIONS[:1]),
            "no filter": Scope(),
        }
        times: dict[str, float] = {}
        for name, scope in scopes.items():
            times[f"hybrid, {name}"] = _median(partial(_hybrid, recall, scope), asked)
        times["embedding"] = _median(model.embed_query, asked)
        times["where"] = _median(
            lambda question: aim(library, COLLECTIONS, question, "", "Risk factors", hard=False), asked
        )
        found: list[Found] = []
        times["nearest"] = _median(
            lambda v: found.append([i for i, _ in nearest.nearest(v, Scope(), None, NEAREST)]), vectors
        )
        times["keyword"] = _median(lambda q: keyword.search(q, Scope(), None, NEAREST), asked)
        return {"times": times, "ready": seconds, "found": found[-len(vectors) :]}


class DuckDb:
    """The product before there were indexes: DuckDB's own inner product, opened for each search."""

    def build(self, folder: Path) -> None:
        """Nothing: it searches the table."""

    def query(self, folder: Path) -> dict[str, Any]:
        """The statement alone, without a filter."""
        store, found = _store(folder), []

        def nearest(vector: Vectors) -> None:
            with store.connect() as db:
                rows = db.execute(
                    f"""
                    SELECT chunk_id, array_inner_product(vector, ?::FLOAT[{len(vector)}]) AS similarity
                    FROM vectors ORDER BY similarity DESC, chunk_id LIMIT {NEAREST}
                    """,
                    [vector.tolist()],
                ).fetchall()
            found.append([row[0] for row in rows])

        vectors = _queries(folder)[:10]  # each takes seconds
        return {"times": {"nearest": _median(nearest, vectors)}, "found": found[-len(vectors) :]}


class Faiss:
    """An index of FAISS, kept as its own file.

    Args:
        kind: ``flat`` (exact), ``hnsw`` or ``ivf``.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def build(self, folder: Path) -> None:
        """By inner product; settings as FAISS proposes for such sizes."""
        import faiss

        vectors: Vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        rows, dimensions = vectors.shape
        index = faiss.index_factory(
            dimensions,
            {"flat": "Flat", "hnsw": "HNSW32,Flat", "ivf": f"IVF{_cells(rows)},Flat"}[self._kind],
            faiss.METRIC_INNER_PRODUCT,
        )
        if self._kind == "ivf":
            some = np.random.default_rng(0).choice(rows, min(rows, 50 * _cells(rows)), replace=False)
            index.train(np.ascontiguousarray(vectors[np.sort(some)]))
        for first in range(0, rows, 50_000):
            index.add(np.ascontiguousarray(vectors[first : first + 50_000]))
        faiss.write_index(index, str(folder / f"{self._kind}.faiss"))

    def query(self, folder: Path) -> dict[str, Any]:
        """One query at a time."""
        import faiss

        index: Any = faiss.read_index(str(folder / f"{self._kind}.faiss"))
        if self._kind == "hnsw":
            index.hnsw.efSearch = 64
        if self._kind == "ivf":
            index.nprobe = 32
        vectors, found = _queries(folder), []
        median = _median(
            lambda v: found.append((index.search(v[None], NEAREST)[1][0] + 1).tolist()), vectors
        )
        return {"times": {"nearest": median}, "found": found[-len(vectors) :]}


class Chroma:
    """A persistent collection of Chroma with its default HNSW settings."""

    def build(self, folder: Path) -> None:
        """Vectors alone, without texts."""
        vectors: Vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        collection = self._client(folder).create_collection(
            "chunks", metadata={"hnsw:space": "ip"}, embedding_function=None
        )
        for first in range(0, len(vectors), 5_000):
            some = np.ascontiguousarray(vectors[first : first + 5_000])
            collection.add(ids=[str(first + i + 1) for i in range(len(some))], embeddings=some)

    def query(self, folder: Path) -> dict[str, Any]:
        """One query at a time, ids alone."""
        collection = self._client(folder).get_collection("chunks", embedding_function=None)
        vectors, found = _queries(folder), []

        def nearest(vector: Vectors) -> None:
            result = collection.query(query_embeddings=vector[None], n_results=NEAREST, include=[])
            found.append([int(i) for i in result["ids"][0]])

        return {"times": {"nearest": _median(nearest, vectors)}, "found": found[-len(vectors) :]}

    @staticmethod
    def _client(folder: Path) -> Any:
        import chromadb

        return chromadb.PersistentClient(
            str(folder / "chroma"), settings=chromadb.Settings(anonymized_telemetry=False)
        )


class Bm25s:
    """bm25s with its own defaults, over the product's terms, all collections as one."""

    def build(self, folder: Path) -> None:
        """Given numbers for terms: the words as strings would take gigabytes."""
        import bm25s
        from bm25s.tokenization import Tokenized

        vocabulary: dict[str, int] = {}
        numbers = [
            [vocabulary.setdefault(t, len(vocabulary)) for t in words] for words in _documents(folder)
        ]
        index = bm25s.BM25()
        index.index(Tokenized(ids=numbers, vocab=vocabulary), show_progress=False)
        index.save(str(folder / "bm25s"))

    def query(self, folder: Path) -> dict[str, Any]:
        """The question's terms made in the time, as with the product."""
        import bm25s

        index = bm25s.BM25.load(str(folder / "bm25s"))
        median = _median(
            lambda q: index.retrieve([sorted(set(terms(q)))], k=NEAREST, show_progress=False), questions()
        )
        return {"times": {"keyword": median}}


class RankBm25:
    """rank-bm25 as it is, which scores every chunk for every query."""

    def build(self, folder: Path) -> None:
        """Nothing: it cannot be kept."""

    def query(self, folder: Path) -> dict[str, Any]:
        """Also how long it takes to build."""
        from rank_bm25 import BM25Okapi

        documents, made = list(_documents(folder)), []
        ready = _seconds(lambda: made.append(BM25Okapi(documents)))
        median = _median(
            lambda q: np.argpartition(made[0].get_scores(terms(q)), -NEAREST)[-NEAREST:], questions()[:10]
        )
        return {"times": {"keyword": median}, "ready": {"keywords": ready}}


MEASURES: dict[str, Measure] = {
    "deepthink": Deepthink(),
    "duckdb": DuckDb(),
    "faiss-flat": Faiss("flat"),
    "faiss-hnsw": Faiss("hnsw"),
    "faiss-ivf": Faiss("ivf"),
    "chroma": Chroma(),
    "bm25s": Bm25s(),
    "rank-bm25": RankBm25(),
}


def _hybrid(recall: Recall, scope: Scope, question: str) -> object:
    return recall.search(question, "hybrid", [scope], NEAREST)


def _store(folder: Path) -> Store:
    return Store(folder / "deepthink.duckdb")


def _queries(folder: Path) -> Vectors:
    return np.asarray(np.load(folder / "queries.npy"), dtype=np.float32)


def _documents(folder: Path) -> Any:
    library = Library(_store(folder))
    return (joined.split() for name in COLLECTIONS for _, joined in library.terms(name))


def _cells(rows: int) -> int:
    """Cells of an inverted file: about the square root of the rows, as a power of two."""
    return int(2 ** round(np.log2(np.sqrt(rows))))


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _median(work: Callable[[Any], object], over: Sequence[Any] | npt.NDArray[Any]) -> float:
    """Median milliseconds of the wall clock."""
    for one in over[:_WARM]:
        work(one)
    taken: list[float] = []
    for one in over:
        began = time.perf_counter()
        work(one)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def _main() -> None:
    forbid_hubs()
    step, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    try:
        if step == "build":
            result: dict[str, Any] = {"seconds": _seconds(lambda: MEASURES[name].build(folder))}
        else:
            result = MEASURES[name].query(folder)
    except ModuleNotFoundError as error:
        result = {"missing": error.name}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    _main()
