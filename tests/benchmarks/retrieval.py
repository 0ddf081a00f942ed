"""Milliseconds of a hybrid search with a section filter on the NVIDIA filing, embedding included."""

from __future__ import annotations

import statistics
import time

from agent.retrieval.recall import Recall, Strategy, match_sections
from tests.benchmarks.library import NVIDIA, read_into
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store
from tui.assemble import open_embedder
from tui.settings.settings import load

_QUERIES = (
    "competition from companies with greater resources",
    "export controls on A100 and H100 to China",
    "dependence on third-party foundries",
    "supply and demand forecasting errors",
    "gaming demand and cryptocurrency mining",
    "climate change regulation",
    "failure to protect intellectual property",
    "loss of a major customer",
)
_ROUNDS = 5


def measure() -> Table:
    """Medians over queries and rounds, after one warm-up round."""
    store = Store(paths.store_file())
    embedder = open_embedder(load())
    read_into(store, "filings", [NVIDIA], embedder)
    library = Library(store)
    recall = Recall(library, embedder)
    everywhere = Scope(collections=("filings",))
    sections = tuple(match_sections("Item 1A. Risk Factors", library.sections(everywhere)))
    filtered = Scope(collections=("filings",), sections=sections)
    rows = [
        Row.at_most("hybrid, section filter", _median(recall, "hybrid", filtered), "{:.0f} ms", 60),
        Row("hybrid, no filter", f"{_median(recall, 'hybrid', everywhere):.0f} ms"),
        Row("vector alone, section filter", f"{_median(recall, 'vector', filtered):.0f} ms"),
        Row("keyword alone, section filter", f"{_median(recall, 'keyword', filtered):.0f} ms"),
    ]
    chunks = library.collections()[0].chunks
    return Table(
        "retrieval",
        "Retrieval on a 10-K",
        rows,
        [f"{chunks} chunks; {len(_QUERIES)} queries × {_ROUNDS} rounds; filter: {', '.join(sections)}."],
    )


def _median(recall: Recall, strategy: Strategy, scope: Scope) -> float:
    taken: list[float] = []
    for round_number in range(_ROUNDS + 1):
        for query in _QUERIES:
            began = time.perf_counter()
            recall.search(query, strategy, [scope], 10)
            if round_number:
                taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)
