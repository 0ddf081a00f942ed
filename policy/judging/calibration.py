"""Freezing a policy on held-out questions: how far it can be trusted, and when it may leave the default.

Three things are fitted on the validation questions and then frozen: a curve that turns the raw sufficiency
into a calibrated probability, the margin that an advantage must exceed, and the temperature of the
displayed probabilities.

The same held-out questions choose the margin and judge the policy, so the judgement is cross-fitted: each
question is walked with a margin chosen on the other held-out questions, and its calibration error is that
of a curve fitted without it. What is frozen in the end is fitted on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from policy.decisions.returns import examples
from policy.decisions.trees import Floats, Seen, Tree, default_columns, fold
from policy.judging.walking import Outcomes, Scored, follow, score, walk
from policy.serving.scorers import Rule, Scorer, Scores

CURVE: Final = "calibration.safetensors"
# States needed for an isotonic curve; with fewer, a line through the log-odds. A question's states are
# correlated: over 1,555 states of 142 questions the line had an ECE of 0.031, the curve 0.041 (crossed).
_ISOTONIC_STATES = 5_000
_MARGINS = 60
_BINS: Final = 15
_EDGE = 1e-4  # probabilities stay this far from 0 and 1
_FOLDS = 5


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
        self._inner = inner
        self.curve = curve

    def score(self, states: Sequence[Seen]) -> Scores:
        """The inner scorer's advantages, and its sufficiency calibrated by the curve."""
        raw = self._inner.score(states)
        return Scores(raw.advantages, self.curve(raw.sufficiency))

    def save(self, folder: Path) -> None:
        """Write the inner scorer and the curve into ``folder``."""
        from safetensors.numpy import save_file

        inner: Any = self._inner
        inner.save(folder)
        save_file({"x": self.curve.x, "y": self.curve.y}, folder / CURVE)


def calibrated(scorer: Scorer, folder: Path) -> Scorer:
    """``scorer`` with the curve in its folder; ``scorer`` itself if there is no curve."""
    from safetensors.numpy import load_file

    if not (folder / CURVE).is_file():
        return scorer
    points = load_file(folder / CURVE)
    return Calibrated(scorer, Curve(points["x"], points["y"]))


def calibration_error(probabilities: Floats, targets: Floats) -> float:
    """Expected calibration error over bins of equal width (Guo et al., 2017).

    Args:
        probabilities: Shape (n,).
        targets: Shape (n,), 0 to 1. NaN in either is skipped; the result is NaN if nothing is known.
    """
    known = ~(np.isnan(probabilities) | np.isnan(targets))
    probabilities, targets = probabilities[known], targets[known]
    if not probabilities.size:
        return float("nan")
    bin_of = np.minimum((probabilities * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.abs(np.bincount(bin_of, weights=probabilities - targets, minlength=_BINS))
    return float(gaps.sum() / probabilities.size)


def choose_margin(scored: Scored, trees: Sequence[Tree], cost: float, errors: float = 0.5) -> float:
    """The margin to freeze: the largest whose loss could be chance.

    Every margin that makes a difference is evaluated by walking ``trees``. The best is biased by the
    selection; a larger one deviates less often. So the largest is chosen whose mean utility is within
    ``errors`` standard errors of the best, the error being that of the paired difference (the
    one-standard-error rule of Breiman et al., 1984, on half an error: a whole one gives up half of what was
    learned).
    """
    margins = candidates(scored.scores)
    utilities = np.stack(
        [follow(trees, scored.decide(Rule(margin, 1.0))).utility(cost) for margin in margins]
    )
    utilities = utilities[:, ~np.isnan(utilities).any(axis=0)]
    if not utilities.size:
        return margins[-1]
    means = utilities.mean(axis=1)
    best = int(np.argmax(means))
    questions = utilities.shape[1]
    differences = utilities[best] - utilities
    error = differences.std(axis=1, ddof=1) / np.sqrt(questions) if questions > 1 else 0.0
    acceptable = np.flatnonzero(means >= means[best] - errors * error - 1e-12)
    return margins[int(acceptable.max())]


def candidates(scores: Scores) -> list[float]:
    """Margins from 0 to one that nothing exceeds, spread like the positive advantages."""
    best = scores.advantages.max(axis=1)
    positive = best[best > 0]
    if not positive.size:
        return [0.0]
    spread = np.quantile(positive, np.linspace(0.0, 1.0, _MARGINS))
    return sorted({0.0, *(float(np.round(value, 6)) for value in spread), float(positive.max()) + 1e-3})


def fit_temperature(states: Sequence[Seen], advantages: Floats, values: Floats, margin: float) -> float:
    """The temperature at which the displayed probabilities best predict the right action.

    It minimises the mean negative log-likelihood of the best action (Guo et al., 2017), over states in
    which the values of more than one action are known; equally good actions share the probability.

    Args:
        states: The n states.
        advantages: Shape (n, 3): the policy's; minus infinity where an action is not valid.
        values: Shape (n, 3): what each action was worth, NaN where unknown.
        margin: Of the rule.
    """
    usable = np.isfinite(values).sum(axis=1) > 1
    if not usable.any():
        return 1.0
    margins = np.full_like(advantages, margin)
    margins[np.arange(len(states)), default_columns(states)] = 0.0
    scores = (advantages - margins)[usable]
    best = np.nanmax(values[usable], axis=1, keepdims=True)
    targets = np.where(np.isclose(values[usable], best), 1.0, 0.0)
    targets /= targets.sum(axis=1, keepdims=True)

    def log_loss(temperature: float) -> float:
        scaled = (scores - scores.max(axis=1, keepdims=True)) / temperature
        logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        return float(-np.where(targets > 0, targets * np.maximum(logs, -50.0), 0.0).sum(axis=1).mean())

    spread = float(np.std(scores[np.isfinite(scores)])) or 1.0
    temperatures: list[float] = (spread * np.geomspace(0.02, 20.0, 61)).tolist()
    return min(temperatures, key=log_loss)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A policy ready to be judged and written.

    Attributes:
        scorer: The scorer with calibrated sufficiency.
        rule: With the margin and the temperature.
        crossed: Outcomes of the held-out questions, each with a margin chosen without it.
        fitted: The same with the rule, whose margin was chosen on all of them.
        calibration_error: Of the sufficiency, each question with a curve fitted without it.
    """

    scorer: Calibrated
    rule: Rule
    crossed: Outcomes
    fitted: Outcomes
    calibration_error: float


def freeze(scorer: Scorer, validation: Sequence[Tree], cost: float) -> Frozen:
    """Freeze ``scorer`` on the validation trees, which have qualities and were not trained on."""
    scored = score(validation, scorer)
    targets = examples(validation, cost)
    rows = [scored.rows[id(state)] for state in targets.states]
    raw, sufficient = scored.scores.sufficiency[rows], targets.sufficient
    margin = choose_margin(scored, validation, cost)
    advantages = scored.scores.advantages[rows]
    rule = Rule(margin, fit_temperature(targets.states, advantages, targets.values, margin))
    probabilities = np.full(len(raw), np.nan)
    fold_of = np.array([_fold_of(question) for question in targets.questions])
    for part in np.unique(fold_of):
        inside = fold_of == part
        probabilities[inside] = fit_curve(raw[~inside], sufficient[~inside])(raw[inside])
    return Frozen(
        Calibrated(scorer, fit_curve(raw, sufficient)),
        rule,
        crossed(scored, cost),
        follow(validation, scored.decide(rule)),
        calibration_error(probabilities, sufficient),
    )


def crossed(scored: Scored, cost: float) -> Outcomes:
    """The outcome of each question, in tree order, with a margin chosen on the other folds."""
    parts = [_fold_of(tree.question) for tree in scored.trees]
    decide = {}
    for part in set(parts):
        others = [tree for tree, other in zip(scored.trees, parts, strict=True) if other != part]
        margin = choose_margin(scored, others or scored.trees, cost)
        decide[part] = scored.decide(Rule(margin, 1.0))
    return Outcomes([walk(tree, decide[part]) for tree, part in zip(scored.trees, parts, strict=True)])


def _fold_of(question: str) -> int:
    # Salted: by their bare ids all held-out questions are in one fold of the split.
    return fold(f"{question}\nheld out", _FOLDS)
