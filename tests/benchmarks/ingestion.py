"""`deepthink ingest` beside LangChain and Chroma with the same embedder, on the same filings, in one run.

Each reading is a process of its own into an empty store, imports and model load included.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.documents.coverage import coverage
from agent.documents.document import Chunk, ParsedDocument
from agent.documents.document import Table as Cells
from agent.documents.reading import read
from models.catalogue import entry
from tests.benchmarks import langchain_ingestion
from tests.benchmarks.library import FILINGS, NVIDIA
from tests.benchmarks.process import Ran, beside_others, run
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.library import Library
from traces.store import Store

PYTHON: Final = os.environ.get("DEEPTHINK_BENCH_PYTHON", sys.executable)
"""The Python that has the alternative's packages (the extra ``bench``)."""
_NEEDS: Final = "import langchain_chroma, langchain_community, langchain_text_splitters, bs4, pypdf"
_FIGURE: Final = re.compile(r"\d(?:[\d,.]*\d)?")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class _Reading:
    """Some files read by one of the two: what it took, and the chunks as they are stored."""

    ran: Ran
    chunks: list[Chunk]


def measure() -> Table:
    """Seconds, memory, chunks, and what of the text and of the tables is in them."""
    load = beside_others()
    asked = subprocess.run([PYTHON, "-W", "ignore", "-c", _NEEDS], check=False, capture_output=True)
    theirs_there = asked.returncode == 0
    rows: list[Row] = []
    took: dict[str, float] = {"ours": 0.0, "theirs": 0.0}
    for label, files in (
        ("10-K as HTML", [NVIDIA]),
        ("three filings as PDF", sorted(FILINGS.glob("*.pdf"))),
    ):
        sys.stderr.write(f"{label}\n")
        parsed = [read(file) for file in files]
        with tempfile.TemporaryDirectory() as folder:
            ours = _ours(files, Path(folder))
        took["ours"] += ours.ran.seconds
        rows += _rows(f"{label}, deepthink", ours, parsed, barred=files == [NVIDIA])
        if not theirs_there:
            rows.append(Row(f"{label}, LangChain and Chroma", "not installed"))
            continue
        with tempfile.TemporaryDirectory() as folder:
            theirs = _theirs(files, Path(folder))
        took["theirs"] += theirs.ran.seconds
        rows += _rows(f"{label}, LangChain and Chroma", theirs, parsed, barred=False)
        rows.append(_ratio(f"{label}: seconds", ours.ran.seconds, theirs.ran.seconds))
        rows.append(
            Row(
                f"{label}: processor seconds, deepthink / LangChain and Chroma",
                f"{ours.ran.processor / theirs.ran.processor:.2f}",
            )
        )
    if theirs_there:
        rows.append(_ratio("all of it: seconds", took["ours"], took["theirs"]))
    return Table(
        "ingestion", "Reading filings: deepthink beside LangChain and Chroma", rows, [*_NOTES, *load]
    )


def _ours(files: Sequence[Path], folder: Path) -> _Reading:
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


def _theirs(files: Sequence[Path], folder: Path) -> _Reading:
    texts = folder / "chunks.jsonl"
    model = entry("all-minilm-l6-v2").location(paths.models_dir())
    script = str(Path(langchain_ingestion.__file__))
    command = [PYTHON, script, str(model), str(folder / "chroma"), str(texts), *map(str, files)]
    ran = run(command, ANONYMIZED_TELEMETRY="False", **_ALIKE)
    told = [json.loads(line)[1] for line in texts.read_text("utf-8").splitlines()]
    return _Reading(ran, [Chunk(text, "text", (), None, at, 0) for at, text in enumerate(told)])


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


def _ratio(what: str, ours: float, theirs: float) -> Row:
    return Row(
        f"{what}, deepthink / LangChain and Chroma", f"{ours / theirs:.2f}", "at most 1.00", ours <= theirs
    )


_NOTES: Final = [
    "One reading each, one after the other, each a process of its own into an empty store; seconds and "
    "memory are those of the whole process, imports and model load included.",
    "deepthink: `deepthink ingest`. The alternative: BSHTMLLoader and PyPDFLoader, "
    f"RecursiveCharacterTextSplitter of {langchain_ingestion.CHUNK} characters with "
    f"{langchain_ingestion.OVERLAP} of overlap, langchain-community's HuggingFaceEmbeddings, "
    "Chroma.from_documents into a folder. The same files, all-MiniLM-L6-v2 in single precision from the "
    "same folder, as many threads as there are cores; langchain-huggingface asks for an older "
    "huggingface-hub than transformers 5 needs, so its predecessor of the same name stands in.",
    "Files: NVIDIA's Form 10-K for fiscal 2023 (HTML as filed, 2.7 MB), and Boeing's and Amcor's 10-K and "
    "a press release of Ulta Beauty's as PDF.",
    "Words in the chunks: counted as for the coverage that deepthink shows, for both from what is "
    "stored; what an overlap or a table's header repeats may make up for what is missing. Tables as "
    "deepthink's reader finds them: a row counts where one chunk holds its label and every figure of it, "
    "and, for the second share, every word of the table's header as well.",
]
