"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RRF_K = 60  # the constant of the original paper


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[int]], weights: Sequence[float] | None = None
) -> dict[int, float]:
    """Fuse rankings of ids into one score per id: the sum of ``weight / (k + rank)``, rank from 1.

    Args:
        rankings: Each a list of ids, best first, without repetition.
        weights: One per ranking; all 1 if None.
    """
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (RRF_K + rank)
    return scores


def best_first(scores: Mapping[int, float]) -> list[int]:
    """Ids by falling score; equals by id, so that the order never depends on hashing."""
    return sorted(scores, key=lambda item: (-scores[item], item))
