"""Seconds and memory to read the NVIDIA filing into an empty library, as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.library import NVIDIA
from tests.benchmarks.table import Row, Table


def measure() -> Table:
    """One whole `deepthink ingest`, imports and model load included."""
    deepthink = str(Path(sys.executable).parent / "deepthink")
    began = time.perf_counter()
    process = subprocess.Popen(
        [deepthink, "ingest", str(NVIDIA), "--collection", "filings"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    # wait4 gives the peak of this child alone; getrusage would give the largest of all children.
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(output)
    peak = usage.ru_maxrss / 1024**2
    coverage = re.search(r"(\d+(?:\.\d+)?)\s?%", output)
    return Table(
        "ingestion",
        "Reading a 10-K",
        [
            Row(
                "text, sections, chunks, vectors, keyword terms",
                f"{seconds:.1f} s",
                "under 60 s",
                met=seconds < 60,
            ),
            Row("peak memory", f"{peak:.2f} GB", "under 1.5 GB", met=peak < 1.5),
            Row("coverage as shown", f"{coverage.group(1)} %" if coverage else "not shown"),
        ],
        ["`deepthink ingest` on NVIDIA's Form 10-K for fiscal 2023 (HTML as filed, 2.7 MB), one run."],
    )
