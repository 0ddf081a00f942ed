"""Frontiers and headroom against hand-worked cases and by their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.decisions.trees import Floats
from policy.judging.bootstrap import difference, draws
from policy.judging.calibration import calibration
from policy.judging.walking import Outcomes, Walk, follow, outcomes
from tests.benchmarks.frontier import (
    against_frontier,
    baselines,
    headroom,
    points,
    quality_at,
    schedule,
    standing,
    steps_at,
)
from tests.policy.trees import random_trees


def at(steps: list[float], quality: list[float], x: float) -> float:
    return float(quality_at(np.array([steps]), np.array([quality]), np.array([x]))[0])


def needed(steps: list[float], quality: list[float], y: float) -> tuple[float, bool]:
    fewest, reached = steps_at(np.array([steps]), np.array([quality]), np.array([y]))
    return float(fewest[0]), bool(reached[0])


def test_a_frontier_is_the_hull_and_goes_on_flat() -> None:
    steps, quality = [1.0, 2.0, 3.0, 4.0], [0.2, 0.3, 0.6, 0.5]
    assert at(steps, quality, 1.0) == 0.2
    assert at(steps, quality, 2.0) == pytest.approx(0.4)  # a mixture of one and three beats two
    assert at(steps, quality, 9.0) == 0.6
    assert np.isnan(at(steps, quality, 0.5))
    assert needed(steps, quality, 0.4)[0] == pytest.approx(2.0)
    assert needed(steps, quality, 0.1) == (1.0, True)
    assert needed(steps, quality, 0.9) == (3.0, False)


THOUSANDTHS = st.integers(0, 1000).map(lambda n: n / 1000)
SETS = st.lists(st.tuples(THOUSANDTHS.map(lambda x: 1 + 5 * x), THOUSANDTHS), min_size=1, max_size=6)


@given(SETS, st.lists(st.floats(1, 7), min_size=3, max_size=3))
def test_a_frontier_is_monotone_concave_and_above_its_points(
    pairs: list[tuple[float, float]], xs: list[float]
) -> None:
    steps, quality = [s for s, _ in pairs], [q for _, q in pairs]
    for s, q in pairs:
        assert at(steps, quality, s) >= q
    low, middle, high = sorted(max(x, min(steps)) for x in xs)
    values = [at(steps, quality, x) for x in (low, middle, high)]
    assert values[0] <= values[1] + 1e-9
    assert values[1] <= values[2] + 1e-9
    if high - low > 1e-6:
        share = (middle - low) / (high - low)
        assert values[1] >= (1 - share) * values[0] + share * values[2] - 1e-9


@given(SETS, st.floats(0, 1))
def test_the_steps_for_a_quality_give_it(pairs: list[tuple[float, float]], y: float) -> None:
    steps, quality = [s for s, _ in pairs], [q for _, q in pairs]
    fewest, reached = needed(steps, quality, y)
    assert reached == (max(quality) >= y)
    assert min(steps) - 1e-9 <= fewest <= max(steps) + 1e-9
    assert at(steps, quality, fewest + 1e-9) >= min(y, max(quality)) - 1e-6


def made(name: str, steps: Floats, quality: Floats) -> Outcomes:
    """Outcomes with these columns."""
    return outcomes(
        name, [Walk(str(i), "", "", s, q) for i, (s, q) in enumerate(zip(steps, quality, strict=True))]
    )


def test_a_policy_against_a_frontier_by_hand() -> None:
    n = 100
    one = made("1", np.full(n, 1.0), np.full(n, 0.2))
    three = made("3", np.full(n, 3.0), np.full(n, 0.6))
    ours = made("ours", np.full(n, 1.5), np.full(n, 0.4))
    found = against_frontier(ours, [one, three], draws(n, 200))
    assert found.gain.estimate == pytest.approx(0.1)
    assert found.saved.estimate == pytest.approx(0.5)
    assert found.saving.estimate == pytest.approx(0.25)
    assert found.saving.low == pytest.approx(0.25)
    assert found.reached == 1.0
    better = made("better", np.full(n, 1.5), np.full(n, 0.9))
    beyond = against_frontier(better, [one, three], draws(n, 200))
    assert beyond.reached == 0.0
    assert beyond.saving.estimate == pytest.approx(0.5)  # at least: three steps do not suffice
    oracle = made("o", np.full(n, 1.5), np.full(n, 0.8))
    share = headroom(ours, [one, three], [oracle], one, oracle, 0.05, draws(n, 200))
    assert share.quality.estimate == pytest.approx(0.1 / 0.5)
    assert share.steps.estimate == pytest.approx(0.5 / (2.0 - 1.5))
    assert share.utility.estimate == pytest.approx((0.325 - 0.15) / (0.725 - 0.15))


def test_a_schedule_is_not_above_its_own_frontier() -> None:
    trees = random_trees(11, 80)
    family = [follow(letters, trees, schedule(letters)) for letters in ("", "C", "CR", "CRC")]
    for policy in family:
        found = against_frontier(policy, family, draws(80, 300))
        assert found.gain.estimate <= 1e-9
        assert found.saved.estimate <= 1e-9


def test_questions_known_for_one_only_count_for_none() -> None:
    ours = made("a", np.array([1.0, 2.0, 3.0]), np.array([0.1, np.nan, 0.3]))
    theirs = made("b", np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.5, np.nan]))
    found = points([ours, theirs], draws(3, 20))
    assert found.questions == 1
    assert found.quality[0].tolist() == [0.1, 0.5]
    nothing = against_frontier(ours, [made("c", np.full(3, 1.0), np.full(3, np.nan))], draws(3, 20))
    assert np.isnan(nothing.gain.estimate)


def test_the_oracle_has_all_the_headroom_and_the_best_schedule_none() -> None:
    training, trees = random_trees(12, 80), random_trees(13, 80)
    against = baselines(training, trees, resamples=200)
    best = standing(against.oracle, against)
    assert best.headroom.utility.estimate == pytest.approx(1.0)
    assert best.headroom.quality.estimate == pytest.approx(1.0)
    assert best.utility[against.best.name].low > 0
    none = standing(against.best, against, [against.oracle])
    assert none.headroom.utility.estimate == pytest.approx(0.0)
    assert none.quality[against.best.name].high == 0.0
    assert none.utility[against.oracle.name].high < 0
    assert none.complete.gain.questions == 80


def test_calibration_by_hand() -> None:
    found = calibration(np.array([0.0, 1.0, 0.5, 0.5, np.nan]), np.array([0.0, 1.0, 1.0, 0.0, 1.0]))
    assert found.states == 4
    assert found.ece == pytest.approx(0.0)
    assert found.brier == pytest.approx(0.125)
    sure = calibration(np.full(10, 0.9), np.array([1.0] * 5 + [0.0] * 5))
    assert sure.ece == pytest.approx(0.4)
    assert np.isnan(calibration(np.array([]), np.array([])).ece)


def test_the_frontier_of_thousands_takes_no_time() -> None:
    rng = np.random.default_rng(0)
    family = [made(str(k), np.full(2_000, float(k)), rng.random(2_000)) for k in range(1, 7)]
    assert difference(family[0].quality, family[1].quality, draws(2_000)).questions == 2_000
    assert against_frontier(family[2], family, draws(2_000)).gain.estimate <= 1e-9
