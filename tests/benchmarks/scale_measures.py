"""The searches of `scale` on one library, as a process of its own, so that its peak memory is its own.

    python -m tests.benchmarks.scale_measures FOLDER

prints one JSON object. FOLDER holds a library made by `scale_library`.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agent.retrieval.keyword import KeywordIndexes
from agent.retrieval.nearest import VectorIndexes
from agent.retrieval.recall import Recall, aim
from models.offline import forbid_hubs
from tests.benchmarks.library import embedder
from tests.benchmarks.scale_library import COLLECTIONS, SECTIONS, questions
from traces.library import Library
from traces.records import Scope
from traces.store import Store

NEAREST = 10
_WARM = 3  # queries that are not counted


def measured(folder: Path) -> dict[str, Any]:
    """Milliseconds by what was timed; and the processor's seconds that the first search takes to build."""
    asked, model = questions(), embedder()
    vectors = np.stack([model.embed_query(question) for question in asked])
    library = Library(Store(folder / "deepthink.duckdb"))
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
    times["nearest"] = _median(lambda v: nearest.nearest(v, Scope(), None, NEAREST), vectors)
    times["keyword"] = _median(lambda q: keyword.search(q, Scope(), None, NEAREST), asked)
    return {"times": times, "ready": seconds}


def _hybrid(recall: Recall, scope: Scope, question: str) -> object:
    return recall.search(question, "hybrid", [scope], NEAREST)


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


if __name__ == "__main__":
    forbid_hubs()
    sys.stdout.write(json.dumps(measured(Path(sys.argv[1]))) + "\n")
