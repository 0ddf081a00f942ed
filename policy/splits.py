"""Which questions are learned from, which freeze the thresholds: always by question, always the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, TypeVar

from policy.trees import Tree

T = TypeVar("T")


def fold(question: str, folds: int) -> int:
    """The fold of a question: the same on every machine, whatever else there is."""
    return int.from_bytes(hashlib.sha256(question.encode()).digest()[:8], "big") % folds


HELD_OUT: Final = 5
"""One question in so many is held out."""


def split(trees: Sequence[Tree], held_out: int = HELD_OUT) -> tuple[list[Tree], list[Tree]]:
    """Training trees, and one in ``held_out`` for validation: calibration, temperature, margin."""
    validation = [tree for tree in trees if fold(tree.question, held_out) == 0]
    return [tree for tree in trees if fold(tree.question, held_out) != 0], validation
