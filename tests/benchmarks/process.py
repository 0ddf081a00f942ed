"""A command as a process of its own: its seconds and its peak memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ran:
    """A process that succeeded: its seconds, and its largest resident memory in gigabytes."""

    seconds: float
    peak: float


def run(command: Sequence[str], **environment: str) -> Ran:
    """Run it to its end; raises `RuntimeError` with its output if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    with process.stdout as stream:
        output = stream.read()
    # wait4 gives the peak of this child alone; getrusage would give the largest of all children.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(output)
    return Ran(time.perf_counter() - began, usage.ru_maxrss / 1024**2)


def beside_others() -> list[str]:
    """A note for a benchmark that starts while other jobs keep the machine busy; none where it is quiet."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load < cores / 2:
        return []
    return [
        f"**Beside other jobs**: the load average was {load:.1f} on {cores} cores at the start, so seconds "
        "are more than on a quiet machine; compare ratios within the run."
    ]
