"""Combining rankings.

Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. Maximal marginal relevance (passages near
the query and unlike each other): Carbonell and Goldstein, SIGIR 1998.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from models.protocols import Vectors

RRF_K = 60  # the constant of the original paper
LAMBDA = 0.7
"""Weight of similarity to the query; the rest is the weight of dissimilarity to picked passages."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[int]], weights: Sequence[float] | None = None
) -> dict[int, float]:
    """Fuse rankings of ids into one score per id: the sum of ``weight / (k + rank)``, rank from 1.

    Each ranking is best first, without repetition; all weights are 1 if None.
    """
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (RRF_K + rank)
    return scores


def best_first(scores: Mapping[int, float]) -> list[int]:
    """Ids by decreasing score; ties are ordered by id, so that the order never depends on hashing."""
    return sorted(scores, key=lambda item: (-scores[item], item))


def highest(
    ids: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], limit: int
) -> list[tuple[int, float]]:
    """The ``limit`` ids with the highest scores, and these, best first; ties are ordered by id."""
    if len(ids) > limit:
        # Select before sorting, which is slower.
        is_candidate = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
        ids, scores = ids[is_candidate], scores[is_candidate]
    order = np.lexsort((ids, -scores))[:limit]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def maximal_marginal_relevance(query: Vectors, passages: Vectors) -> list[tuple[int, float]]:
    """Order passages: each is picked by ``λ · cos(query, p) - (1 - λ) · max cos(p, picked)``.

    The first pick is the nearest passage (nothing is picked yet, so the second term is zero). Among ties,
    the first row is picked. ``query`` has shape ``(dimensions,)``, ``passages`` ``(n, dimensions)``, all of
    unit length. Returns ``(row, value)`` in the order of picking, with the value that each was picked by.
    """
    relevance = passages @ query
    similarity = passages @ passages.T
    redundancy = np.zeros(len(passages), dtype=np.float32)
    available = np.ones(len(passages), dtype=bool)
    picked: list[tuple[int, float]] = []
    for _ in passages:
        value = np.where(available, LAMBDA * relevance - (1 - LAMBDA) * redundancy, -np.inf)
        row = int(value.argmax())
        redundancy = np.maximum(redundancy, similarity[row]) if picked else similarity[row]
        available[row] = False
        picked.append((row, float(value[row])))
    return picked
