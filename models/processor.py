"""The processor of this machine."""

from __future__ import annotations

import os
import sys


def usable_threads() -> int:
    """Threads worth using: all cores of a small machine, the physical cores of a larger one."""
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return cores if cores <= 4 else max(4, cores // 2)


def processor_has_bfloat16() -> bool:
    """Whether the processor supports bfloat16 natively; emulation is slower than single precision."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def trains_in_bfloat16() -> bool:
    """Whether the training device supports bfloat16: the GPU if there is one, else the processor."""
    import torch

    return bool(torch.cuda.is_bf16_supported()) if torch.cuda.is_available() else processor_has_bfloat16()
