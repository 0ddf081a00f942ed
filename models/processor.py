"""What this machine computes with."""

from __future__ import annotations

import os
import sys


def usable_threads() -> int:
    """Cores worth computing on: all of a small machine, the physical ones of a larger one."""
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return cores if cores <= 4 else max(4, cores // 2)
