"""A command as a process of its own: what it wrote, when, and what it took."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ran:
    """A process that ended well.

    Attributes:
        lines: What it wrote to either stream, without line ends, each with the seconds since it began.
        seconds: From its start to its end.
        processor: Seconds of all processors together, in the program and in the system.
        peak: Its largest resident memory in gigabytes.
    """

    lines: list[tuple[float, str]]
    seconds: float
    processor: float
    peak: float

    @property
    def output(self) -> str:
        """All of it."""
        return "\n".join(line for _, line in self.lines)


def run(command: Sequence[str], **environment: str) -> Ran:
    """Run it to its end.

    Args:
        command: Program and arguments.
        environment: Added to this process's own.

    Raises:
        RuntimeError: it ended with another code than 0; with what it wrote.
    """
    merged: Mapping[str, str] = {**os.environ, **environment}
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=merged
    )
    assert process.stdout is not None
    with process.stdout as stream:
        lines = [(time.perf_counter() - began, line.rstrip("\n")) for line in stream]
    # wait4 gives the peak of this child alone; getrusage would give the largest of all children.
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    ran = Ran(lines, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024**2)
    if process.returncode != 0:
        raise RuntimeError(ran.output)
    return ran


def beside_others() -> list[str]:
    """A note for a benchmark that begins while other jobs keep the machine busy; none where it is quiet."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load < cores / 2:
        return []
    return [
        f"**Beside other jobs**: the load average was {load:.1f} on {cores} cores when it began, so its "
        "seconds are more than a quiet machine's; ratios within the run are what counts."
    ]
