"""Whether bfloat16 is worth computing in: where it is not multiplied as such, it is slower than single."""

from __future__ import annotations


def processor_has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 itself rather than emulating it."""
    import torch

    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def trains_in_bfloat16() -> bool:
    """Whether what a training computes on has bfloat16: the GPU where there is one, else the processor."""
    import torch

    return bool(torch.cuda.is_bf16_supported()) if torch.cuda.is_available() else processor_has_bfloat16()
