"""Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): near the query, unlike each other."""

from __future__ import annotations

import numpy as np

from models.protocols import Vectors

LAMBDA = 0.7
"""Weight of nearness to the query; the rest is the weight of being unlike what is already picked."""


def maximal_marginal_relevance(
    query: Vectors, passages: Vectors, count: int, trade_off: float = LAMBDA
) -> list[tuple[int, float]]:
    """Pick passages one by one, each by ``λ · cos(query, p) - (1 - λ) · max cos(p, picked)``.

    The first pick is the nearest passage (nothing is picked yet, so the second part is zero). Of equals
    the earlier row is picked.

    Args:
        query: Shape ``(dimensions,)``, unit length.
        passages: Shape ``(n, dimensions)``, unit length each.
        count: How many to pick; all if there are fewer.
        trade_off: λ, 0 to 1; at 1 the order is by nearness alone.

    Returns:
        ``(row, the value it was picked by)``, in the order of picking.
    """
    near = passages @ query
    alike = passages @ passages.T
    redundancy = np.zeros(len(passages), dtype=np.float32)
    left = np.ones(len(passages), dtype=bool)
    picked: list[tuple[int, float]] = []
    for _ in range(min(count, len(passages))):
        value = np.where(left, trade_off * near - (1 - trade_off) * redundancy, -np.inf)
        row = int(value.argmax())
        redundancy = np.maximum(redundancy, alike[row]) if picked else alike[row]
        left[row] = False
        picked.append((row, float(value[row])))
    return picked
