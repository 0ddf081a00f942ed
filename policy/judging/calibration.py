"""Calibration on held-out questions: how far a policy can be trusted, and when it may leave the default.

Three things are fitted on the validation questions and then frozen: a curve that turns the raw sufficiency
into a calibrated probability, the margin that an advantage must exceed, and the temperature of the
displayed probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from policy.decisions.trees import INDEX, Floats, Seen, default_action
from policy.judging.walking import Scored, follow_each
from policy.serving.scorers import Rule, Scorer, Scores

CURVE: Final = "calibration.safetensors"
# States needed for an isotonic curve; with fewer, a line through the log-odds. A question's states are
# correlated: over 1,555 states of 142 questions the line had an ECE of 0.031, the curve 0.041 (crossed).
_ISOTONIC_STATES = 5_000
_MARGINS = 60
BINS: Final = 15
_EDGE = 1e-4  # probabilities stay this far from 0 and 1


@dataclass(frozen=True, slots=True)
class Curve:
    """A monotone map of raw probabilities ``x`` to calibrated ones ``y``, linear between its points."""

    x: Floats
    y: Floats

    def __call__(self, raw: Floats) -> Floats:
        """Calibrated probabilities; beyond the ends the curve is constant."""
        return np.asarray(np.interp(raw, self.x, self.y), dtype=np.float64)


IDENTITY = Curve(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def fit_curve(raw: Floats, targets: Floats) -> Curve:
    """Fit the curve from raw probabilities to ``targets``, 0 to 1, NaN where unknown.

    Isotonic regression if there are enough states (Zadrozny and Elkan, 2002), else Platt's line through the
    log-odds (Platt, 1999); the identity if nothing is known or all states are alike.
    """
    known = ~(np.isnan(raw) | np.isnan(targets))
    raw, targets = raw[known], targets[known]
    if not raw.size or targets.min() == targets.max() or raw.min() == raw.max():
        return IDENTITY
    return _isotonic(raw, targets) if raw.size >= _ISOTONIC_STATES else _platt(raw, targets)


def _isotonic(raw: Floats, targets: Floats) -> Curve:
    from sklearn.isotonic import IsotonicRegression

    regression = IsotonicRegression(y_min=_EDGE, y_max=1 - _EDGE, out_of_bounds="clip").fit(raw, targets)
    # Smooths the steps: each level becomes one point, at the mean of the states that share it.
    levels, level_of = np.unique(regression.predict(raw), return_inverse=True)
    middle = np.bincount(level_of, weights=raw) / np.bincount(level_of)
    return Curve(middle, levels) if len(levels) > 1 else IDENTITY


def _platt(raw: Floats, targets: Floats) -> Curve:
    from sklearn.linear_model import LogisticRegression

    odds = _log_odds(raw)[:, None]
    line = LogisticRegression(C=10.0).fit(
        np.concatenate([odds, odds]),
        np.repeat([1, 0], len(targets)),
        sample_weight=np.concatenate([targets, 1 - targets]),  # partial quality counts for both
    )
    x = np.linspace(_EDGE, 1 - _EDGE, 101)
    slope = max(0.0, float(line.coef_[0, 0]))
    return Curve(x, 1 / (1 + np.exp(-(slope * _log_odds(x) + float(line.intercept_[0])))))


def _log_odds(probability: Floats) -> Floats:
    clipped = np.clip(probability, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(clipped / (1 - clipped)), dtype=np.float64)


class Calibrated:
    """A scorer whose sufficiency is calibrated by a curve."""

    def __init__(self, inner: Scorer, curve: Curve) -> None:
        self.inner = inner
        self.curve = curve

    @property
    def method(self) -> str:
        """The inner scorer's."""
        return self.inner.method

    def score(self, states: Sequence[Seen]) -> Scores:
        """The inner scorer's advantages, and its sufficiency calibrated by the curve."""
        raw = self.inner.score(states)
        return Scores(raw.advantages, self.curve(raw.sufficiency))

    def save(self, folder: Path) -> None:
        """Write the inner scorer and the curve into ``folder``."""
        from safetensors.numpy import save_file

        inner: Any = self.inner
        inner.save(folder)
        save_file({"x": self.curve.x, "y": self.curve.y}, folder / CURVE)


def calibrated(scorer: Scorer, folder: Path) -> Scorer:
    """``scorer`` with the curve in its folder; ``scorer`` itself if there is no curve."""
    from safetensors.numpy import load_file

    if not (folder / CURVE).is_file():
        return scorer
    points = load_file(folder / CURVE)
    return Calibrated(scorer, Curve(points["x"], points["y"]))


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin, with the mean utility on the validation questions using it, by default, and at best."""

    margin: float
    utility: float
    default: float
    best: float


def choose_margin(scored: Scored, cost: float, errors: float = 0.5) -> Margin:
    """The margin to freeze: the largest whose loss could be chance.

    Every margin that makes a difference is evaluated by walking the validation trees. The best is biased by
    the selection; a larger one deviates less often. So the largest is chosen whose mean utility is within
    ``errors`` standard errors of the best, the error being that of the paired difference (the
    one-standard-error rule of Breiman et al., 1984, on half an error: a whole one gives up half of what was
    learned).
    """
    margins = candidates(scored.scores)
    utilities = np.stack([_utility(scored, margin, cost) for margin in margins])
    known = ~np.isnan(utilities).any(axis=0)
    utilities = utilities[:, known]
    if not utilities.size:
        return Margin(margins[-1], float("nan"), float("nan"), float("nan"))
    means = utilities.mean(axis=1)
    best_at = int(np.argmax(means))
    differences = utilities[best_at] - utilities
    error = differences.std(axis=1, ddof=1) / np.sqrt(utilities.shape[1]) if utilities.shape[1] > 1 else 0.0
    acceptable = np.flatnonzero(means >= means[best_at] - errors * error - 1e-12)
    index = int(acceptable.max())
    return Margin(float(margins[index]), float(means[index]), float(means[-1]), float(means[best_at]))


def candidates(scores: Scores) -> list[float]:
    """Margins from 0 to one that nothing exceeds, spread like the positive advantages."""
    best = np.where(np.isfinite(scores.advantages), scores.advantages, -np.inf).max(axis=1)
    positive = best[best > 0]
    if not positive.size:
        return [0.0]
    spread = np.quantile(positive, np.linspace(0.0, 1.0, _MARGINS))
    return sorted({0.0, *(float(np.round(value, 6)) for value in spread), float(positive.max()) + 1e-3})


def _utility(scored: Scored, margin: float, cost: float) -> Floats:
    return follow_each("", scored.trees, scored.deciders(Rule(margin, 1.0))).utility(cost)


def fit_temperature(states: Sequence[Seen], advantages: Floats, values: Floats, margin: float) -> float:
    """The temperature at which the displayed probabilities best predict the right action.

    It minimises the mean negative log-likelihood of the best action (Guo et al., 2017), over states in
    which the values of more than one action are known; equally good actions share the probability.

    Args:
        states: The n states.
        advantages: Shape (n, 3): the policy's.
        values: Shape (n, 3): what each action was worth, NaN where unknown.
        margin: Of the rule.
    """
    usable = [i for i in range(len(states)) if np.isfinite(values[i]).sum() > 1]
    if not usable:
        return 1.0
    scores = np.array(
        [
            [
                advantages[i, column] - (margin if action != default_action(states[i].valid) else 0.0)
                if action in states[i].valid
                else -np.inf
                for action, column in INDEX.items()
            ]
            for i in usable
        ]
    )
    best = np.nanmax(values[usable], axis=1, keepdims=True)
    targets = np.where(np.isclose(values[usable], best), 1.0, 0.0)
    targets /= targets.sum(axis=1, keepdims=True)
    spread = float(np.std(scores[np.isfinite(scores)])) or 1.0
    temperatures = spread * np.geomspace(0.02, 20.0, 61)
    return float(min(temperatures, key=lambda temperature: _log_loss(scores, targets, float(temperature))))


def _log_loss(scores: Floats, targets: Floats, temperature: float) -> float:
    scaled = (scores - scores.max(axis=1, keepdims=True)) / temperature
    logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    return float(-np.where(targets > 0, targets * np.maximum(logs, -50.0), 0.0).sum(axis=1).mean())


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far probabilities can be trusted.

    Attributes:
        ece: Expected calibration error over `BINS` bins of equal width (Guo et al., 2017).
        brier: Mean squared difference between probability and outcome.
    """

    ece: float
    brier: float


def calibration(probabilities: Floats, targets: Floats, bins: int = BINS) -> Calibration:
    """Calibration of ``probabilities``, shape (n,), against ``targets``, 0 to 1; NaN is skipped."""
    known = ~(np.isnan(probabilities) | np.isnan(targets))
    probabilities, targets = probabilities[known], targets[known]
    if not probabilities.size:
        return Calibration(float("nan"), float("nan"))
    bin_of = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    gaps = np.abs(np.bincount(bin_of, weights=probabilities - targets, minlength=bins))
    return Calibration(
        float(gaps.sum() / probabilities.size), float(np.mean((probabilities - targets) ** 2))
    )
