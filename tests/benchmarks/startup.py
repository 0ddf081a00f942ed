"""How long `deepthink --help` takes, beside the interpreter and the two packages it may import."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.table import Row, Table

_RUNS = 15


def startup() -> Table:
    """Median wall-clock seconds of whole processes, taken in turn so that noise meets all alike."""
    deepthink = str(Path(sys.executable).parent / "deepthink")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import typer, pydantic": [sys.executable, "-c", "import typer, pydantic"],
        "deepthink --help": [deepthink, "--help"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(_RUNS + 1):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(taken[1:]) for name, taken in seconds.items()}
    rows = [Row(name, f"{median:.3f} s") for name, median in medians.items()]
    rows[-1] = Row.at_most("deepthink --help", medians["deepthink --help"], "{:.3f} s", 0.25)
    return Table("startup", "Start-up", rows, [f"Medians of {_RUNS} runs after one warm-up."])
