"""Calibration on held-out questions: what a policy says of itself, and when it may leave the default.

Three things are fitted on the validation questions and then frozen: a curve that makes of the raw
sufficiency a probability that can be believed, the margin that an advantage must exceed, and the
temperature of the probabilities that are shown.
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
# States from which a curve may bend; with fewer, a line through the log-odds. The states of a question hang
# together: over 1,555 states of 142 questions the line had an ECE of 0.031, the curve of 0.041 (crossed).
_ENOUGH = 5_000
_MARGINS = 60
BINS: Final = 15
_EDGE = 1e-4  # probabilities keep this far from 0 and 1


@dataclass(frozen=True, slots=True)
class Curve:
    """A monotone map of raw probabilities ``x`` to calibrated ones ``y``, linear between its points."""

    x: Floats
    y: Floats

    def __call__(self, raw: Floats) -> Floats:
        """Calibrated probabilities; what lies beyond the ends is worth what they are."""
        return np.asarray(np.interp(raw, self.x, self.y), dtype=np.float64)


IDENTITY = Curve(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def fit_curve(raw: Floats, so: Floats) -> Curve:
    """The curve from raw probabilities to how often it was so, 0 to 1; NaN where nobody knows.

    Isotonic regression where there is enough (Zadrozny and Elkan, 2002), else Platt's line through the
    log-odds (Platt, 1999); the identity where nothing is known, or all states are alike.
    """
    known = ~(np.isnan(raw) | np.isnan(so))
    raw, so = raw[known], so[known]
    if not raw.size or so.min() == so.max() or raw.min() == raw.max():
        return IDENTITY
    return _isotonic(raw, so) if raw.size >= _ENOUGH else _platt(raw, so)


def _isotonic(raw: Floats, so: Floats) -> Curve:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=_EDGE, y_max=1 - _EDGE, out_of_bounds="clip").fit(raw, so)
    # Steps as they come are jagged: each level is kept once, at the middle of the states that share it.
    levels, at = np.unique(fitted.predict(raw), return_inverse=True)
    middle = np.bincount(at, weights=raw) / np.bincount(at)
    return Curve(middle, levels) if len(levels) > 1 else IDENTITY


def _platt(raw: Floats, so: Floats) -> Curve:
    from sklearn.linear_model import LogisticRegression

    odds = _log_odds(raw)[:, None]
    line = LogisticRegression(C=10.0).fit(
        np.concatenate([odds, odds]),
        np.repeat([1, 0], len(so)),
        sample_weight=np.concatenate([so, 1 - so]),  # a quality between 0 and 1 is a bit of both
    )
    x = np.linspace(_EDGE, 1 - _EDGE, 101)
    slope = max(0.0, float(line.coef_[0, 0]))
    return Curve(x, 1 / (1 + np.exp(-(slope * _log_odds(x) + float(line.intercept_[0])))))


def _log_odds(probability: Floats) -> Floats:
    kept = np.clip(probability, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(kept / (1 - kept)), dtype=np.float64)


class Calibrated:
    """A scorer whose sufficiency is calibrated by a curve."""

    def __init__(self, inner: Scorer, curve: Curve) -> None:
        self.inner = inner
        self.curve = curve

    @property
    def method(self) -> str:
        """The inner one's."""
        return self.inner.method

    def score(self, states: Sequence[Seen]) -> Scores:
        """The inner one's advantages, and its sufficiency by the curve."""
        raw = self.inner.score(states)
        return Scores(raw.advantages, self.curve(raw.sufficiency))

    def save(self, folder: Path) -> None:
        """Write the inner one and the curve into ``folder``."""
        from safetensors.numpy import save_file

        inner: Any = self.inner
        inner.save(folder)
        save_file({"x": self.curve.x, "y": self.curve.y}, folder / CURVE)


def calibrated(scorer: Scorer, folder: Path) -> Scorer:
    """``scorer`` with the curve that lies in its folder; itself where there is none."""
    from safetensors.numpy import load_file

    if not (folder / CURVE).is_file():
        return scorer
    points = load_file(folder / CURVE)
    return Calibrated(scorer, Curve(points["x"], points["y"]))


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin, and the mean utility on the validation questions with it, by default, and at best."""

    margin: float
    utility: float
    default: float
    best: float


def choose_margin(scored: Scored, cost: float, errors: float = 0.5) -> Margin:
    """The margin to freeze: the largest that costs no more than chance could.

    Every margin that changes anything is tried by walking the validation trees. The best of them is
    flattered by having been chosen; a larger one deviates less often. So the largest is taken whose mean
    utility is within ``errors`` standard errors of the best, the error being that of the paired difference
    (the one-standard-error rule of Breiman et al., 1984, on half an error: a whole one gives up half of
    what was learned).
    """
    margins = candidates(scored.scores)
    tried = np.stack([_utility(scored, margin, cost) for margin in margins])
    known = ~np.isnan(tried).any(axis=0)
    tried = tried[:, known]
    if not tried.size:
        return Margin(margins[-1], float("nan"), float("nan"), float("nan"))
    means = tried.mean(axis=1)
    best = int(np.argmax(means))
    differences = tried[best] - tried
    error = differences.std(axis=1, ddof=1) / np.sqrt(tried.shape[1]) if tried.shape[1] > 1 else 0.0
    within = np.flatnonzero(means >= means[best] - errors * error - 1e-12)
    at = int(within.max())
    return Margin(float(margins[at]), float(means[at]), float(means[-1]), float(means[best]))


def candidates(made: Scores) -> list[float]:
    """Margins from 0 to one that nothing exceeds, spread as the positive advantages are."""
    best = np.where(np.isfinite(made.advantages), made.advantages, -np.inf).max(axis=1)
    positive = best[best > 0]
    if not positive.size:
        return [0.0]
    spread = np.quantile(positive, np.linspace(0.0, 1.0, _MARGINS))
    return sorted({0.0, *(float(np.round(value, 6)) for value in spread), float(positive.max()) + 1e-3})


def _utility(scored: Scored, margin: float, cost: float) -> Floats:
    return follow_each("", scored.trees, scored.deciders(Rule(margin, 1.0))).utility(cost)


def fit_temperature(states: Sequence[Seen], advantages: Floats, values: Floats, margin: float) -> float:
    """The temperature at which the probabilities shown say best which action was right.

    It minimises the mean negative log-likelihood of the best action (Guo et al., 2017), over states in
    which more than one action's worth is known; the values of actions that are equally good share.

    Args:
        states: The n states.
        advantages: Shape (n, 3): the policy's.
        values: Shape (n, 3): what each action was worth, NaN where unknown.
        margin: Of the rule.
    """
    at = [i for i in range(len(states)) if np.isfinite(values[i]).sum() > 1]
    if not at:
        return 1.0
    scores = np.array(
        [
            [
                advantages[i, column] - (margin if action != default_action(states[i].valid) else 0.0)
                if action in states[i].valid
                else -np.inf
                for action, column in INDEX.items()
            ]
            for i in at
        ]
    )
    best = np.nanmax(values[at], axis=1, keepdims=True)
    right = np.where(np.isclose(values[at], best), 1.0, 0.0)
    right /= right.sum(axis=1, keepdims=True)
    spread = float(np.std(scores[np.isfinite(scores)])) or 1.0
    tried = spread * np.geomspace(0.02, 20.0, 61)
    return float(min(tried, key=lambda temperature: _surprise(scores, right, float(temperature))))


def _surprise(scores: Floats, right: Floats, temperature: float) -> float:
    shown = (scores - scores.max(axis=1, keepdims=True)) / temperature
    likely = shown - np.log(np.exp(shown).sum(axis=1, keepdims=True))
    return float(-np.where(right > 0, right * np.maximum(likely, -50.0), 0.0).sum(axis=1).mean())


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far probabilities can be trusted.

    Attributes:
        ece: Expected calibration error over `BINS` bins of equal width (Guo et al., 2017).
        brier: Mean squared distance of what was said from what was so.
    """

    ece: float
    brier: float


def calibration(said: Floats, so: Floats, bins: int = BINS) -> Calibration:
    """Calibration of ``said``, shape (n,), as probabilities of ``so``, 0 to 1; NaN is left out."""
    known = ~(np.isnan(said) | np.isnan(so))
    said, so = said[known], so[known]
    if not said.size:
        return Calibration(float("nan"), float("nan"))
    at = np.minimum((said * bins).astype(np.int64), bins - 1)
    gaps = np.abs(np.bincount(at, weights=said - so, minlength=bins))
    return Calibration(float(gaps.sum() / said.size), float(np.mean((said - so) ** 2)))
