"""How well a reranker orders what recall brought, against the fused order; and its calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policy.reranking.mining import Mined

Floats = npt.NDArray[np.float64]


def recall_at(
    mined: Sequence[Mined], scores: Sequence[Sequence[float]] | None, top: int, depth: int
) -> Floats:
    """Per question the share of its gold passages among the ``top`` of the ``depth`` that recall brought.

    Args:
        mined: The questions.
        scores: For each question a score of each of its first ``depth`` recalled passages; None for the
            fused order.
        top: How many are kept.
        depth: How many were reranked.
    """
    shares: list[float] = []
    for number, one in enumerate(mined):
        gold = sum(f.gold for f in one.found)
        brought = [f for f in one.found if f.rank is not None][:depth]
        if scores is not None:
            order = np.argsort(-np.asarray(scores[number][: len(brought)]), kind="stable")
            brought = [brought[i] for i in order]
        shares.append(sum(f.gold for f in brought[:top]) / gold)
    return np.array(shares)


def fit_calibration(logits: Floats, supports: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and intercept of Platt's logistic regression from logit to probability, by Newton's method."""
    design = np.column_stack([logits, np.ones(len(logits))])
    weights = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ weights))
        curvature = design.T @ (design * (p * (1 - p))[:, None]) + 1e-6 * np.eye(2)
        weights = weights + np.linalg.solve(curvature, design.T @ (supports - p))
    return float(weights[0]), float(weights[1])


def calibration_error(p: Floats, supports: npt.NDArray[np.bool_], bins: int = 15) -> float:
    """Expected calibration error: mean gap of probability and frequency in bins of equal width."""
    bucket = np.minimum((p * bins).astype(int), bins - 1)
    inside = [bucket == i for i in range(bins)]
    return float(sum(m.mean() * abs(p[m].mean() - supports[m].mean()) for m in inside if m.any()))


def interval(differences: Floats, seed: int = 0, rounds: int = 2000) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of paired differences."""
    chance = np.random.default_rng(seed)
    means = chance.choice(differences, (rounds, len(differences))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
