"""What the model-free grader's numbers mean: logistic regressions from features to a probability."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where a probability becomes a grade.

    Attributes:
        correct: From here on a passage is graded correct.
        incorrect: Below this it is graded incorrect; between the two it is ambiguous.
    """

    correct: float
    incorrect: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression: ``p = 1 / (1 + exp(-(intercept + sum of weight * feature)))``.

    Attributes:
        intercept: Log-odds of a passage whose features are all 0.
        weights: Log-odds that each feature adds, by its name (see `agent.cognition.grading.features`).
        thresholds: Where the probability becomes a grade.
    """

    intercept: float
    weights: Mapping[str, float]
    thresholds: Thresholds

    def probability(self, features: Mapping[str, float]) -> float:
        """That a passage with these features helps to answer, between 0 and 1."""
        odds = self.intercept + sum(weight * features[name] for name, weight in self.weights.items())
        # Written so that neither end overflows.
        return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))


# Cosines of two embedders are not on one scale, so each needs coefficients of its own. Held out, 80 % of
# the passages graded correct are marked as supporting, and 3 % of the supporting ones are graded incorrect.
# Isotonic regression on top did not lower the log loss (0.121 with and without), nor did the further
# features that were tried, squares and products of these among them, by more than a fiftieth. How a passage
# compares with the best one would: but that makes the best of a bad lot look good.
BY_EMBEDDER: dict[str, Calibration] = {
    "all-minilm-l6-v2": Calibration(
        intercept=-8.52,
        weights={"vector": 8.84, "coverage": 2.73, "names": 1.18},
        thresholds=Thresholds(correct=0.62, incorrect=0.0076),
    ),
}

# For an embedder that was not measured. Words alone reach no precision of 0.8, so "correct" is right only
# every second time here.
WORDS_ALONE = Calibration(
    intercept=-5.7,
    weights={"coverage": 2.74, "names": 1.97, "sentence": 1.72},
    thresholds=Thresholds(correct=0.41, incorrect=0.0141),
)

UNCALIBRATED_RERANKER = Thresholds(correct=0.5, incorrect=0.05)
"""For a reranker's own probability."""
