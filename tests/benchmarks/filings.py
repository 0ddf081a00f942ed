"""Real filings: how long reading them takes, how long a search, and whether it finds the right page."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from agent.documents.chunking import coverage
from agent.documents.document import ParsedDocument
from agent.documents.reading import read as read_file
from agent.retrieval.recall import Recall, Strategy, match_sections
from agent.steps.rerank import read
from agent.steps.retrieve import candidate
from tests.benchmarks.library import FILINGS, NVIDIA, read_into
from tests.benchmarks.process import beside_others, run
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.library import Library
from traces.records import Chunk, Scope
from traces.store import Store
from tui.assemble import open_embedder, open_reader
from tui.settings.settings import load

_PDFS = sorted(FILINGS.glob("*.pdf"))
_TOP = 10
_READ = 24  # as in a run
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


def ingestion() -> Table:
    """`deepthink ingest`, each time as a process of its own into an empty store."""
    load = beside_others()
    rows = [
        *_ingested("10-K as HTML", [NVIDIA], most_seconds=60, most_memory=1.5),
        *_ingested("three filings as PDF", _PDFS),
    ]
    notes = [
        "One reading each, one after the other, each a process of its own into an empty store; seconds and "
        "memory are those of the whole process, imports and model load included.",
        "Files: NVIDIA's Form 10-K for fiscal 2023 (HTML as filed, 2.7 MB), and Boeing's and Amcor's 10-K "
        "and a press release of Ulta Beauty's as PDF.",
        "Words in the chunks: counted as for the coverage that deepthink shows, from what is stored.",
    ]
    return Table("ingestion", "Reading filings", rows, [*notes, *load])


def _ingested(
    label: str, files: list[Path], most_seconds: float | None = None, most_memory: float | None = None
) -> list[Row]:
    deepthink = str(Path(sys.executable).parent / "deepthink")
    command = [deepthink, "ingest", *map(str, files), "--collection", "filings"]
    with tempfile.TemporaryDirectory() as folder:
        ran = run(command, DEEPTHINK_HOME=folder, OMP_NUM_THREADS=str(os.cpu_count() or 1))
        library = Library(Store(next(Path(folder).rglob(paths.store_file().name))))
        chunks = [
            Chunk(p.position, "table" if p.kind == "table" else "text", (p.section,), p.page, p.text)
            for document in library.documents("filings")
            for p in library.document_passages(document.id)
        ]
    together = "\n".join(read_file(file).visible_text for file in files)
    held = coverage(ParsedDocument((), together), chunks)
    each = f"{len(chunks)} of {sum(len(chunk.text) for chunk in chunks) / len(chunks):.0f} characters"
    return [
        Row.at_most(f"{label}: text to searchable", ran.seconds, "{:.1f} s", most_seconds),
        Row.at_most(f"{label}: peak memory", ran.peak, "{:.2f} GB", most_memory),
        Row(f"{label}: chunks", f"{each}, {ran.seconds / len(chunks) * 1000:.1f} s per 1,000"),
        Row(f"{label}: words of the text that are in the chunks", f"{held:.1%}"),
    ]


def retrieval() -> Table:
    """Milliseconds of a search on a 10-K, embedding included."""
    store, embedder = Store(paths.store_file()), open_embedder(load())
    [done] = read_into(store, "filings", [NVIDIA], embedder)
    recall = Recall(Library(store), embedder)
    everywhere = Scope(collections=("filings",))
    sections = tuple(match_sections("Item 1A. Risk Factors", Library(store).sections(everywhere)))
    filtered = Scope(collections=("filings",), sections=sections)
    rows = [
        Row.at_most("hybrid, section filter", _median(recall, "hybrid", filtered), "{:.0f} ms", 60),
        Row("hybrid, no filter", f"{_median(recall, 'hybrid', everywhere):.0f} ms"),
        Row("vector alone, section filter", f"{_median(recall, 'vector', filtered):.0f} ms"),
        Row("keyword alone, section filter", f"{_median(recall, 'keyword', filtered):.0f} ms"),
    ]
    queries = f"{len(_QUERIES)} queries × {_ROUNDS} rounds"
    notes = [f"{done.chunks} chunks; {queries}; filter: {', '.join(sections)}."]
    return Table("retrieval", "Retrieval on a 10-K", rows, notes)


def _median(recall: Recall, strategy: Strategy, scope: Scope) -> float:
    """Over queries and rounds, after one warm-up round."""
    taken: list[float] = []
    for query in (1 + _ROUNDS) * _QUERIES:
        began = time.perf_counter()
        recall.search(query, strategy, [scope], 10)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[len(_QUERIES) :])


def filings() -> Table:
    """FinanceBench's questions on three PDFs: is the gold page among those of the top passages?"""
    store, settings = Store(paths.store_file()), load()
    embedder, reader = open_embedder(settings), open_reader(settings)
    rows = [
        Row(f"{done.name}: {done.pages} pages, {done.chunks} chunks", f"{done.coverage:.1%} coverage")
        for done in read_into(store, "filings", _PDFS, embedder)
    ]
    recall = Recall(Library(store), embedder)
    documents = {document.name: document.id for document in Library(store).documents()}
    misses: list[str] = []
    lines = (FILINGS / "financebench_15.jsonl").read_text("utf-8").splitlines()
    for question in map(json.loads, lines):
        scope = Scope(documents=(documents[question["doc"]],))
        hits = recall.search(question["question"], "hybrid", [scope], _READ)
        passages = read(reader, question["question"], [candidate(hit) for hit in hits])
        if not {one["page"] for one in passages[:_TOP]} & {page + 1 for page in question["evidence_pages"]}:
            misses.append(question["id"])
    found = len(lines) - len(misses)
    hits_of = f"{found} of {len(lines)}"
    rows.append(Row(f"gold page in the top {_TOP}", hits_of, "at least 11 of 15", met=found >= 11))
    return Table("filings", "Real PDF filings", rows, [f"Missed: {', '.join(misses) or 'none'}."])
