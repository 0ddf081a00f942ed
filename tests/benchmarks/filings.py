"""FinanceBench's questions on three real PDFs: is the gold page among the pages of the top 10 passages?"""

from __future__ import annotations

import json

from agent.retrieval.recall import Recall
from agent.steps.rerank import read
from agent.steps.retrieve import candidate
from models.protocols import Embedder, Reader
from tests.benchmarks.library import FILINGS, read_into
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store
from tui.assemble import open_embedder, open_reader
from tui.settings.settings import load

TOP = 10
READ = 24  # as in a run


def measure() -> Table:
    """Pages found by search and reader, without a language model."""
    store = Store(paths.store_file())
    settings = load()
    embedder = open_embedder(settings)
    filings = read_into(store, "filings", sorted(FILINGS.glob("*.pdf")), embedder)
    found, misses = pages_found(store, embedder, open_reader(settings))
    rows = [
        Row(f"{done.name}: {done.pages} pages, {done.chunks} chunks", f"{done.coverage:.1%} coverage")
        for done in filings
    ]
    hits = f"{len(found)} of {len(found) + len(misses)}"
    rows.append(Row(f"gold page in the top {TOP}", hits, "at least 11 of 15", met=len(found) >= 11))
    return Table("filings", "Real PDF filings", rows, [f"Missed: {', '.join(misses) or 'none'}."])


def pages_found(store: Store, embedder: Embedder, reader: Reader) -> tuple[list[str], list[str]]:
    """Ids of the questions whose gold page was found within their document, and of the others."""
    library = Library(store)
    recall = Recall(library, embedder)
    documents = {document.name: document.id for document in library.documents()}
    found: list[str] = []
    misses: list[str] = []
    for line in (FILINGS / "financebench_15.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        scope = Scope(documents=(documents[question["doc"]],))
        hits = recall.search(question["question"], "hybrid", [scope], READ)
        passages = read(reader, question["question"], [candidate(hit) for hit in hits])
        pages = {passage["page"] for passage in passages[:TOP]}
        gold = {page + 1 for page in question["evidence_pages"]}
        (found if pages & gold else misses).append(question["id"])
    return found, misses
