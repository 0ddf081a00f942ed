"""`deepthink ingest` on filings, each time as a process of its own into an empty store."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.documents.chunking import coverage
from agent.documents.document import Chunk, ParsedDocument
from agent.documents.document import Table as Cells
from agent.documents.reading import read
from tests.benchmarks.library import FILINGS, NVIDIA
from tests.benchmarks.process import Ran, beside_others, run
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.library import Library
from traces.store import Store

_FIGURE: Final = re.compile(r"\d(?:[\d,.]*\d)?")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class _Reading:
    """Some files read: what it took, and the chunks as they are stored."""

    ran: Ran
    chunks: list[Chunk]


def measure() -> Table:
    """Seconds, memory, chunks, and what of the text and of the tables is in them."""
    load = beside_others()
    rows: list[Row] = []
    for label, files in (
        ("10-K as HTML", [NVIDIA]),
        ("three filings as PDF", sorted(FILINGS.glob("*.pdf"))),
    ):
        sys.stderr.write(f"{label}\n")
        parsed = [read(file) for file in files]
        with tempfile.TemporaryDirectory() as folder:
            rows += _rows(label, _read(files, Path(folder)), parsed, barred=files == [NVIDIA])
    return Table("ingestion", "Reading filings", rows, [*_NOTES, *load])


def _read(files: Sequence[Path], folder: Path) -> _Reading:
    deepthink = str(Path(sys.executable).parent / "deepthink")
    command = [deepthink, "ingest", *map(str, files), "--collection", "filings"]
    ran = run(command, DEEPTHINK_HOME=str(folder), **_ALIKE)
    store = next(folder.rglob(paths.store_file().name))
    library = Library(Store(store))
    chunks = [
        Chunk(p.text, "table" if p.kind == "table" else "text", (p.section,), p.page, p.position, 0)
        for document in library.documents("filings")
        for p in library.document_passages(document.id)
    ]
    return _Reading(ran, chunks)


_ALIKE: Final = {"OMP_NUM_THREADS": str(os.cpu_count() or 1)}


def _rows(label: str, reading: _Reading, parsed: Sequence[ParsedDocument], *, barred: bool) -> list[Row]:
    seconds, peak, chunks = reading.ran.seconds, reading.ran.peak, len(reading.chunks)
    letters = sum(len(chunk.text) for chunk in reading.chunks)
    rows = [
        Row(
            f"{label}: text to searchable",
            f"{seconds:.1f} s",
            "under 60 s" if barred else "",
            seconds < 60 if barred else None,
        ),
        Row(
            f"{label}: peak memory",
            f"{peak:.2f} GB",
            "under 1.5 GB" if barred else "",
            peak < 1.5 if barred else None,
        ),
        Row(
            f"{label}: chunks",
            f"{chunks} of {letters / chunks:.0f} characters, {seconds / chunks * 1000:.1f} s per 1,000",
        ),
        Row(f"{label}: words of the text that are in the chunks", f"{_share(parsed, reading.chunks):.1%}"),
    ]
    tables = [block.table for document in parsed for block in document.blocks if block.table is not None]
    found = list(_table_rows(tables, reading.chunks))
    if found:
        whole, named = (sum(kind) / len(found) for kind in zip(*found, strict=True))
        rows.append(
            Row(
                f"{label}: {len(found)} table rows with figures",
                f"label and figures in one chunk {whole:.1%}, what names the columns there too {named:.1%}",
            )
        )
    return rows


def _share(parsed: Sequence[ParsedDocument], chunks: Sequence[Chunk]) -> float:
    """The coverage that deepthink shows, here of all files together."""
    together = "\n".join(document.visible_text for document in parsed)
    return coverage(ParsedDocument((), together), chunks)


def _table_rows(tables: Sequence[Cells], chunks: Sequence[Chunk]) -> Iterator[tuple[bool, bool]]:
    """Of each row with figures: whether one chunk holds them with their label; and the header as well."""
    texts = [f"{' '.join(chunk.section)} {chunk.text}" for chunk in chunks]
    words = [set(_WORD.findall(text.casefold())) for text in texts]
    figures = [set(_FIGURE.findall(text)) for text in texts]
    for table in tables:
        header = {word for line in table.header for cell in line for word in _WORD.findall(cell.casefold())}
        for label, *cells in table.rows:
            named = set(_WORD.findall(label.casefold()))
            wanted = {figure for cell in cells for figure in _FIGURE.findall(cell)}
            if not named or not wanted:
                continue
            holding = [at for at in range(len(texts)) if wanted <= figures[at] and named <= words[at]]
            yield bool(holding), any(header <= words[at] for at in holding)


_NOTES: Final = [
    "One reading each, one after the other, each a process of its own into an empty store; seconds and "
    "memory are those of the whole process, imports and model load included.",
    "Files: NVIDIA's Form 10-K for fiscal 2023 (HTML as filed, 2.7 MB), and Boeing's and Amcor's 10-K and "
    "a press release of Ulta Beauty's as PDF.",
    "Words in the chunks: counted as for the coverage that deepthink shows, from what is stored. "
    "Tables as "
    "deepthink's reader finds them: a row counts where one chunk holds its label and every figure of it, "
    "and, for the second share, every word of the table's header as well.",
]
