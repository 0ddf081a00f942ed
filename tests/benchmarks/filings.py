"""FinanceBench's questions on three real PDFs: is the gold page among the pages of the top 10 chunks?"""

from __future__ import annotations

import json

from agent.retrieval.recall import Recall
from models.protocols import Embedder
from tests.benchmarks import library as made
from tests.benchmarks.library import FILINGS, read_into
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store

TOP = 10


def measure() -> Table:
    """Pages found by the fused order, without a language model and without the reader."""
    store = Store(paths.store_file())
    read = read_into(store, "filings", sorted(FILINGS.glob("*.pdf")))
    found, misses = pages_found(store, made.embedder())
    rows = [
        Row(f"{done.name}: {done.pages} pages, {done.chunks} chunks", f"{done.coverage:.1%} coverage")
        for done in read
    ]
    hits = f"{len(found)} of {len(found) + len(misses)}"
    rows.append(Row(f"gold page in the top {TOP}", hits, "at least 11 of 15", met=len(found) >= 11))
    return Table("filings", "Real PDF filings", rows, [f"Missed: {', '.join(misses) or 'none'}."])


def pages_found(store: Store, embedder: Embedder) -> tuple[list[str], list[str]]:
    """Ids of the questions whose gold page was recalled within their document, and of the others."""
    library = Library(store)
    recall = Recall(library, embedder)
    documents = {document.name: document.id for document in library.documents()}
    found: list[str] = []
    misses: list[str] = []
    for line in (FILINGS / "financebench_15.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        scope = Scope(documents=(documents[question["doc"]],))
        hits = recall.search(question["question"], "hybrid", [scope], TOP)
        pages = {hit.passage.page for hit in hits}
        gold = {page + 1 for page in question["evidence_pages"]}
        (found if pages & gold else misses).append(question["id"])
    return found, misses
