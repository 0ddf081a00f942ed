"""Comparing policies that spend differently: at equal steps, at equal quality, and against clairvoyance.

A set of policies spans a *frontier*: the most mean quality that a mixture of them (choosing one by lot for
each question) reaches with at most x mean steps. It is the upper concave hull of their points (mean steps,
mean quality), continued flat to the right, since nobody has to spend more. Beating single schedules
that happen to be dearer is easy; beating their mixtures is the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.evaluation.bootstrap import NOTHING, Draws, Interval, interval
from policy.evaluation.walking import Outcomes
from policy.trees import Floats

BINS = 15


def quality_at(steps: Floats, quality: Floats, x: Floats) -> Floats:
    """The frontier's quality at ``x`` mean steps.

    The hull's value at x is the highest chord over x of any two points, or the highest point not to the
    right of it; so it is monotone and concave. NaN to the left of all points.

    Args:
        steps: Shape (b, k): mean steps of k policies under b resamples.
        quality: Shape (b, k).
        x: Shape (b,).

    Returns:
        Shape (b,).
    """
    at = x[:, None]
    reached = np.where(steps <= at, quality, -np.inf).max(axis=1)
    left, right = _pairs(steps.shape[1])
    low, high = steps[:, left], steps[:, right]
    inside = (low < at) & (at < high)
    share = np.where(inside, (at - low) / np.where(inside, high - low, 1.0), 0.0)
    chord = np.where(inside, quality[:, left] + share * (quality[:, right] - quality[:, left]), -np.inf)
    best = np.maximum(reached, chord.max(axis=1, initial=-np.inf))
    return np.asarray(np.where(np.isinf(best), np.nan, best), dtype=np.float64)


def steps_at(steps: Floats, quality: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The fewest mean steps with which the frontier's quality is at least ``y``, and whether it gets there.

    Where even its best policy stays below y, the steps are those of that best policy: what is needed is
    more than that. Shapes as in `quality_at`; the second array is 1.0 where y is reached, else 0.0.
    """
    at = y[:, None]
    top = quality.max(axis=1, keepdims=True)
    reachable = top[:, 0] >= at[:, 0]
    at = np.minimum(at, top)
    points = np.where(quality >= at, steps, np.inf).min(axis=1)
    left, right = _pairs(steps.shape[1])
    low, high = quality[:, left], quality[:, right]
    inside = (low < at) & (at < high)
    share = np.where(inside, (at - low) / np.where(inside, high - low, 1.0), 0.0)
    chord = np.where(inside, steps[:, left] + share * (steps[:, right] - steps[:, left]), np.inf)
    fewest = np.minimum(points, chord.min(axis=1, initial=np.inf))
    fewest = np.where(np.isinf(fewest), np.nan, fewest)  # a resample in which nothing is known
    return np.asarray(fewest, dtype=np.float64), reachable.astype(np.float64)


def _pairs(k: int) -> tuple[list[int], list[int]]:
    pairs = [(i, j) for i in range(k) for j in range(k) if i != j]
    return [i for i, _ in pairs], [j for _, j in pairs]


@dataclass(frozen=True, slots=True)
class Matched:
    """A policy against a frontier.

    Attributes:
        gain: Quality of the policy less that of the frontier at the policy's mean steps.
        saved: Steps that the frontier needs for the policy's mean quality, less the policy's.
        saving: ``saved`` as a share of what the frontier needs.
        reached: Share of the resamples in which the frontier reaches the policy's quality at all. Where it
            does not, the steps of its best policy stand for what it needs, so that ``saved`` and
            ``saving`` are lower bounds.
    """

    gain: Interval
    saved: Interval
    saving: Interval
    reached: float


@dataclass(frozen=True, slots=True)
class Points:
    """Mean steps and mean quality under every resample, over the questions known for all policies.

    Attributes:
        steps: Shape (b, k).
        quality: Shape (b, k).
        questions: How many are known for all.
    """

    steps: Floats
    quality: Floats
    questions: int

    def first(self, k: int) -> Points:
        """The first k policies."""
        return Points(self.steps[:, :k], self.quality[:, :k], self.questions)

    def rest(self, k: int) -> Points:
        """The policies after the first k."""
        return Points(self.steps[:, k:], self.quality[:, k:], self.questions)


def points(policies: Sequence[Outcomes], drawn: Draws, measure: str = "quality") -> Points:
    """Means of the policies' steps and ``measure``, paired: a question that is not known for one of them
    counts for none.
    """
    steps = np.stack([policy.steps for policy in policies], axis=1)
    quality = np.stack([policy.column(measure) for policy in policies], axis=1)
    known = ~(np.isnan(steps) | np.isnan(quality)).any(axis=1)
    both = np.concatenate([steps, quality], axis=1)
    both[~known] = np.nan
    means = drawn.means(both)
    return Points(means[:, : len(policies)], means[:, len(policies) :], int(known.sum()))


def against_frontier(
    policy: Outcomes, frontier: Sequence[Outcomes], drawn: Draws, measure: str = "quality"
) -> Matched:
    """A policy against the frontier of others; the frontier is computed anew in every resample.

    Args:
        policy: The policy.
        frontier: Those that span the frontier, such as the best schedule of each number of steps.
        drawn: Resamples of the questions.
        measure: What is to be matched: ``quality`` or another column, such as ``complete``.
    """
    both = points([policy, *frontier], drawn, measure)
    if both.questions == 0:
        return Matched(NOTHING, NOTHING, NOTHING, 0.0)
    steps, quality = both.steps[:, 0], both.quality[:, 0]
    theirs = both.rest(1)
    gain = quality - quality_at(theirs.steps, theirs.quality, steps)
    needed, reached = steps_at(theirs.steps, theirs.quality, quality)
    return Matched(
        interval(gain, both.questions),
        interval(needed - steps, both.questions),
        interval(1 - steps / needed, both.questions),
        float(reached[1:].mean()),
    )


@dataclass(frozen=True, slots=True)
class Headroom:
    """Shares of what a clairvoyant gains over the schedules that the policy gains; 1 is all of it.

    With F and O the frontiers of schedules and of oracles, the policy's mean steps s and quality q:

    Attributes:
        quality: At equal steps: (q - F(s)) / (O(s) - F(s)).
        steps: At equal quality: (F⁻¹(q) - s) / (F⁻¹(q) - O⁻¹(q)).
        utility: At a cost c: (U - U_s) / (U_o - U_s), where U = q - c·s, U_s is the best single
            schedule's and U_o the oracle's at that cost.
    """

    quality: Interval
    steps: Interval
    utility: Interval


def headroom(
    policy: Outcomes,
    schedules: Sequence[Outcomes],
    oracles: Sequence[Outcomes],
    best_schedule: Outcomes,
    best_oracle: Outcomes,
    cost: float,
    drawn: Draws,
) -> Headroom:
    """The three shares; ``best_schedule`` and ``best_oracle`` are those for the utility at ``cost``."""
    k = len(schedules)
    everything = points([policy, best_schedule, best_oracle, *schedules, *oracles], drawn)
    n = everything.questions
    if n == 0:
        return Headroom(NOTHING, NOTHING, NOTHING)
    s, q = everything.steps[:, 0], everything.quality[:, 0]
    ours, theirs = everything.rest(3).first(k), everything.rest(3 + k)
    schedule_q = quality_at(ours.steps, ours.quality, s)
    oracle_q = quality_at(theirs.steps, theirs.quality, s)
    schedule_s, _ = steps_at(ours.steps, ours.quality, q)
    oracle_s, _ = steps_at(theirs.steps, theirs.quality, q)
    utility = everything.quality[:, :3] - cost * everything.steps[:, :3]
    return Headroom(
        interval(_share(q - schedule_q, oracle_q - schedule_q), n),
        interval(_share(schedule_s - s, schedule_s - oracle_s), n),
        interval(_share(utility[:, 0] - utility[:, 1], utility[:, 2] - utility[:, 1]), n),
    )


def _share(part: Floats, whole: Floats) -> Floats:
    """NaN where there is no headroom."""
    some = whole > 1e-9
    return np.where(some, part / np.where(some, whole, 1.0), np.nan)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far probabilities can be trusted.

    Attributes:
        ece: Expected calibration error over `BINS` bins of equal width (Guo et al., 2017): the mean
            distance of what was said from what was so, each bin weighed by its states.
        brier: Mean squared distance of what was said from what was so.
        states: How many were counted.
    """

    ece: float
    brier: float
    states: int


def calibration(said: Floats, so: Floats, bins: int = BINS) -> Calibration:
    """Calibration of probabilities ``said``, shape (n,), of what turned out to be ``so``, 0 to 1.

    States for which either is NaN are left out.
    """
    known = ~(np.isnan(said) | np.isnan(so))
    said, so = said[known], so[known]
    if not said.size:
        return Calibration(float("nan"), float("nan"), 0)
    at = np.minimum((said * bins).astype(np.int64), bins - 1)
    gaps = np.abs(np.bincount(at, weights=said - so, minlength=bins))
    return Calibration(float(gaps.sum() / said.size), float(np.mean((said - so) ** 2)), int(said.size))
