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


def processor_has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 itself; emulating it is slower than single precision."""
    import torch

    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def trains_in_bfloat16() -> bool:
    """Whether what a training computes on has bfloat16: the GPU if there is one, else the processor."""
    import torch

    return bool(torch.cuda.is_bf16_supported()) if torch.cuda.is_available() else processor_has_bfloat16()
