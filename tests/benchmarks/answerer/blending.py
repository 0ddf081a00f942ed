"""The mean of two adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from policy.training.adapters import read_exported, write_exported

_A, _B = ".lora_a", ".lora_b"
_ALPHA: Final = 64.0  # of a blended adapter


def blend(first: Path, second: Path, out: Path) -> None:
    """Write the mean of two exported adapters: their ranks beside one another, each at half its weight.

    Where one of them has no matrix, the other's counts half. Averaged weights often answer better than
    either (Wortsman et al. 2022, https://arxiv.org/abs/2203.05482).
    """
    import numpy as np

    adapters = [read_exported(file) for file in (first, second)]
    blended = {}
    for name in sorted({name for matrices, _ in adapters for name in matrices if name.endswith(_A)}):
        other = name.removesuffix(_A) + _B
        held = [(matrices, alpha) for matrices, alpha in adapters if name in matrices]
        blended[name] = np.concatenate([matrices[name] for matrices, _ in held])
        # llama.cpp multiplies by alpha over the rank, which grows.
        sides = [
            matrices[other] * (alpha / len(matrices[name]) / len(adapters)) for matrices, alpha in held
        ]
        blended[other] = np.concatenate(sides, axis=1) * (len(blended[name]) / _ALPHA)
    write_exported(blended, _ALPHA, out)
