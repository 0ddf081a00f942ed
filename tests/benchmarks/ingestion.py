"""`deepthink ingest` on filings, each time as a process of its own into an empty store."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from agent.documents.chunking import coverage
from agent.documents.document import ParsedDocument
from agent.documents.reading import read
from tests.benchmarks.library import FILINGS, NVIDIA
from tests.benchmarks.process import beside_others, run
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.library import Library
from traces.records import Chunk
from traces.store import Store

_NOTES = [
    "One reading each, one after the other, each a process of its own into an empty store; seconds and "
    "memory are those of the whole process, imports and model load included.",
    "Files: NVIDIA's Form 10-K for fiscal 2023 (HTML as filed, 2.7 MB), and Boeing's and Amcor's 10-K and "
    "a press release of Ulta Beauty's as PDF.",
    "Words in the chunks: counted as for the coverage that deepthink shows, from what is stored.",
]


def measure() -> Table:
    load = beside_others()
    rows = [
        *_rows("10-K as HTML", [NVIDIA], most_seconds=60, most_memory=1.5),
        *_rows("three filings as PDF", sorted(FILINGS.glob("*.pdf"))),
    ]
    return Table("ingestion", "Reading filings", rows, [*_NOTES, *load])


def _rows(
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
    together = "\n".join(read(file).visible_text for file in files)
    letters = sum(len(chunk.text) for chunk in chunks)
    each = f"{len(chunks)} of {letters / len(chunks):.0f} characters"
    return [
        Row.at_most(f"{label}: text to searchable", ran.seconds, "{:.1f} s", most_seconds),
        Row.at_most(f"{label}: peak memory", ran.peak, "{:.2f} GB", most_memory),
        Row(f"{label}: chunks", f"{each}, {ran.seconds / len(chunks) * 1000:.1f} s per 1,000"),
        Row(
            f"{label}: words of the text that are in the chunks",
            f"{coverage(ParsedDocument((), together), chunks):.1%}",
        ),
    ]
