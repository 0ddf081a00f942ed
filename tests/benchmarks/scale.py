"""Retrieval at 10,000, 100,000 and 1,000,000 chunks, beside FAISS, Chroma, bm25s and rank-bm25.

The libraries and what the alternatives build are made once, in the folder that ``DEEPTHINK_BENCH_WORK``
names (build/scale; 8 GB, most of an hour), and a killed run goes on. ``DEEPTHINK_BENCH_SIZES=10000,100000``
leaves sizes out. The alternatives are the extra `bench`; one that is absent says so in its row.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.table import Row, Table

_WORK = Path(os.environ.get("DEEPTHINK_BENCH_WORK", "build/scale"))
_SIZES = [int(n) for n in os.environ.get("DEEPTHINK_BENCH_SIZES", "10000,100000,1000000").split(",")]
_LARGE = 1_000_000
_VECTORS = {
    "duckdb": "DuckDB's array_inner_product, exact",
    "faiss-flat": "FAISS IndexFlatIP, exact",
    "faiss-hnsw": "FAISS HNSW32, efSearch 64",
    "faiss-ivf": "FAISS IVF, 32 cells probed",
    "chroma": "Chroma, persistent, its HNSW",
}
_KEYWORDS = {"bm25s": "bm25s", "rank-bm25": "rank-bm25"}
_NOT_AT_LARGE = {
    "faiss-hnsw": "its graph takes many minutes to build",
    "chroma": "its graph takes many minutes to build",
    "rank-bm25": "a dictionary per chunk: more than 3 GB",
}


def measure() -> Table:
    """Everything is built before anything is timed, so that a quiet machine is needed for minutes only."""
    for size in _SIZES:
        _child("scale_library", str(_folder(size)), str(size))
        for name in (*_VECTORS, *_KEYWORDS):
            if not (size >= _LARGE and name in _NOT_AT_LARGE):
                _built(name, size)
    before = os.getloadavg()[0]
    rows: list[Row] = []
    for size in _SIZES:
        rows.extend(_of_size(size))
    return Table("scale", "Retrieval at 10,000 to 1,000,000 chunks", rows, [*_NOTES, _load(before)])


_NOTES = [
    "Texts are the paragraphs of the question files, repeated with changed names, numbers and words; the "
    "terms are the product's. Vectors are mixtures of two MiniLM vectors with noise, unit length: an exact "
    "search takes as long whatever the values are; an approximate index would find more among real ones.",
    "Four collections of equal size, ten sections, 30 questions of the dev files (ten for DuckDB's and "
    "rank-bm25's, which are slow); medians of the wall clock, each process warm. The section filter keeps "
    "a tenth of the chunks, the collection filter a quarter.",
    "deepthink's times are whole searches of the store, opening the file included; so are DuckDB's. Those "
    "of the other alternatives are of an index that is open already. “Times” are theirs over deepthink's "
    "at the same task.",
    "Ready and built: seconds of the processor. deepthink's indexes are built by the first search of a "
    "process, those of the alternatives were kept as files. Peak memory is of the process that searches; "
    "deepthink's holds the embedder as well.",
]


def _load(before: float) -> str:
    return (
        f"Load average of the machine before and after: {before:.1f} and {os.getloadavg()[0]:.1f} (near 0 "
        "where it is quiet): times are upper bounds where other work went on."
    )


def _of_size(size: int) -> list[Row]:
    ours = _queried("deepthink", size)
    times, ready, peak = ours["times"], ours["ready"], ours["peak"]
    most = {100_000: 100.0, _LARGE: 1_000.0}.get(size)
    said = f"{size:,}: "
    rows: list[Row] = []
    for name in ("section filter", "collection filter", "no filter"):
        took = times[f"hybrid, {name}"]
        bar = most if name != "no filter" or size >= _LARGE else None
        rows.append(
            Row(
                f"{said}hybrid, {name}",
                f"{took:.0f} ms, {times['embedding']:.0f} of them to embed the question",
                f"under {bar:.0f} ms" if bar else "",
                met=took < bar if bar else None,
            )
        )
    rows += [
        Row(f"{said}where a step searches (sections read)", f"{times['where']:.0f} ms"),
        Row(
            f"{said}made ready by the first search",
            f"vectors {ready['vectors']:.1f} s, keywords {ready['keywords']:.1f} s",
        ),
        Row(
            f"{said}peak memory",
            f"{peak:.2f} GB",
            "under 3 GB" if size >= _LARGE else "",
            met=peak < 3 if size >= _LARGE else None,
        ),
        Row(f"{said}nearest 10, deepthink, exact", f"{times['nearest']:.1f} ms"),
        *(_beside(name, what, "nearest", size, ours) for name, what in _VECTORS.items()),
        Row(f"{said}best 10 by keywords, deepthink", f"{times['keyword']:.1f} ms"),
        *(_beside(name, what, "keyword", size, ours) for name, what in _KEYWORDS.items()),
    ]
    return rows


def _beside(name: str, what: str, task: str, size: int, ours: dict[str, Any]) -> Row:
    said = f"{size:,}: – {what}"
    if size >= _LARGE and name in _NOT_AT_LARGE:
        return Row(said, f"not measured: {_NOT_AT_LARGE[name]}")
    built = _built(name, size)
    if "missing" in built:
        return Row(said, "not installed")
    theirs = _queried(name, size)
    if "missing" in theirs:
        return Row(said, "not installed")
    took = theirs["times"][task]
    parts = [f"{took:.1f} ms, {took / ours['times'][task]:.2f} times"]
    if "found" in theirs and "exact" not in what:
        parts.append(f"recall {_recall(theirs['found'], ours['found']):.2f}")
    seconds = theirs.get("ready", {}).get("keywords", built["seconds"])
    if seconds >= 0.05:
        parts.append(f"built in {seconds:.0f} s")
    parts.append(f"peak {theirs['peak']:.2f} GB")
    return Row(said, "; ".join(parts))


def _recall(found: list[list[int]], exact: list[list[int]]) -> float:
    """Mean share of the truly nearest that were found."""
    shares = [len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)]
    return sum(shares) / len(shares)


def _folder(size: int) -> Path:
    return _WORK / str(size)


def _built(name: str, size: int) -> dict[str, Any]:
    """What building told, from the first time."""
    kept = _folder(size) / f"built-{name}.json"
    if not kept.exists():
        # What a killed build left is not searched.
        shutil.rmtree(_folder(size) / name, ignore_errors=True)
        built = _measured("build", name, size)
        if "missing" in built:
            return built
        kept.write_text(json.dumps(built), "utf-8")
    told: dict[str, Any] = json.loads(kept.read_text("utf-8"))
    return told


def _queried(name: str, size: int) -> dict[str, Any]:
    return _measured("query", name, size)


def _measured(step: str, name: str, size: int) -> dict[str, Any]:
    output, peak = _child("scale_measures", step, name, str(_folder(size)))
    told: dict[str, Any] = json.loads(output.splitlines()[-1])
    return told | {"peak": peak}


def _child(module: str, *arguments: str) -> tuple[str, float]:
    """Output, and peak memory in GB, of a benchmark module as a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    # wait4 gives the peak of this child alone; getrusage would give the largest of all children.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{module} {' '.join(arguments)} ended with {process.returncode}")
    return output, usage.ru_maxrss * 1024 / 1e9  # it is told in KiB
