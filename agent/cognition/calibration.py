"""What the model-free grader's numbers mean: logistic regressions from features to a probability.

The coefficients and thresholds are what ``python -m tests.benchmarks grading`` prints; it fits them on
the train files and tells how well they hold on the dev files.
"""

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


# Cosines of two embedders are not on one scale, so each needs coefficients of its own.
BY_EMBEDDER: dict[str, Calibration] = {
    "all-minilm-l6-v2": Calibration(
        intercept=-9.1,
        weights={"vector": 8.5, "coverage": 2.6, "names": 1.9},
        thresholds=Thresholds(correct=0.61, incorrect=0.008),
    ),
}

# For an embedder that was not measured. Words alone reach no precision of 0.8 (about 0.55 at best with any
# recall worth having), so "correct" means no more than "more likely than not" here.
WORDS_ALONE = Calibration(
    intercept=-6.2,
    weights={"coverage": 2.2, "names": 2.6, "sentence": 1.9},
    thresholds=Thresholds(correct=0.5, incorrect=0.011),
)

UNCALIBRATED_RERANKER = Thresholds(correct=0.5, incorrect=0.05)
"""For a cross-encoder's own probability, as long as none has been measured."""
