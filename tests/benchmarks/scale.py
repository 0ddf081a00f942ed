"""Retrieval at 10,000, 100,000 and 1,000,000 chunks.

The libraries are made once, in the folder that ``DEEPTHINK_BENCH_WORK`` names (build/scale; gigabytes, most
of an hour), and a killed run continues. ``DEEPTHINK_BENCH_SIZES=10000,100000`` leaves sizes out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.table import Row, Table

_WORK = Path(os.environ.get("DEEPTHINK_BENCH_WORK", "build/scale"))
_SIZES = [int(n) for n in os.environ.get("DEEPTHINK_BENCH_SIZES", "10000,100000,1000000").split(",")]
_LARGE = 1_000_000


def measure() -> Table:
    """Everything is built before anything is timed, so that a quiet machine is needed for minutes only."""
    for size in _SIZES:
        _child("scale_library", str(_folder(size)), str(size))
    before = os.getloadavg()[0]
    rows: list[Row] = []
    for size in _SIZES:
        rows.extend(_of_size(size))
    return Table("scale", "Retrieval at 10,000 to 1,000,000 chunks", rows, [*_NOTES, _load(before)])


_NOTES = [
    "Texts are the paragraphs of the question files, repeated with changed names, numbers and words; the "
    "terms are the product's. Vectors are mixtures of two MiniLM vectors with noise, unit length: an exact "
    "search takes as long whatever the values are; an approximate index would find more among real ones.",
    "Four collections of equal size, ten sections, 30 questions of the dev files; medians "
    "of the wall clock, each process warm. The section filter keeps "
    "a tenth of the chunks, the collection filter a quarter.",
    "Times are of whole searches of the store, opening the file included. Ready: seconds of the processor; "
    "the indexes are built by the first search of a process. Peak memory is of the process that searches, "
    "the embedder included.",
]


def _load(before: float) -> str:
    return (
        f"Load average of the machine before and after: {before:.1f} and {os.getloadavg()[0]:.1f} (near 0 "
        "where it is quiet): times are upper bounds where other work went on."
    )


def _of_size(size: int) -> list[Row]:
    output, peak = _child("scale_measures", str(_folder(size)))
    told = json.loads(output.splitlines()[-1])
    times, ready = told["times"], told["ready"]
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
        Row(f"{said}nearest 10, exact", f"{times['nearest']:.1f} ms"),
        Row(f"{said}best 10 by keywords", f"{times['keyword']:.1f} ms"),
    ]
    return rows


def _folder(size: int) -> Path:
    return _WORK / str(size)


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
