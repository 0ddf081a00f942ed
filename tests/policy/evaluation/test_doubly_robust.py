"""The doubly robust estimator against a decision process small enough to enumerate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pytest

from agent.state import Action
from policy.evaluation.doubly_robust import (
    LoggedDecision,
    OffPolicy,
    action_values,
    estimate,
    logged,
    of_full_run,
    of_run,
    per_run,
)
from policy.scorers import Scores
from policy.trees import Floats, Seen

COST = 0.05
CHANCE = np.array([0.5, 0.3])  # that CONTINUE, REVISE bring the missing piece
HORIZON = 3  # decisions; at the last one only FINISH is left
QUALITY = np.array([0.2, 1.0])  # of finishing without, and with the piece

# Shape (step, piece held, action): the policy that is asked about, and the one that was logged.
TARGET = np.array(
    [[[0.7, 0.2, 0.1], [0.1, 0.0, 0.9]], [[0.1, 0.5, 0.4], [0.0, 0.0, 1.0]], [[0, 0, 1.0]] * 2]
)
BEHAVIOUR = np.array(
    [[[0.4, 0.3, 0.3], [0.3, 0.3, 0.4]], [[0.3, 0.3, 0.4], [0.3, 0.2, 0.5]], [[0, 0, 1.0]] * 2]
)
ACTIONS: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


def enumerated() -> tuple[Floats, float]:
    """Exact returns of every action under the target, shape (step, held, action), and its mean return."""
    q = np.zeros((HORIZON, 2, 3))
    following = np.zeros(2)
    for step in reversed(range(HORIZON)):
        for held in (0, 1):
            q[step, held, 2] = QUALITY[held] - COST
            if step < HORIZON - 1:
                for action in (0, 1):
                    found = 1.0 if held else CHANCE[action]
                    q[step, held, action] = -COST + found * following[1] + (1 - found) * following[0]
        following = (TARGET[step] * q[step]).sum(axis=1)
    return q, float(0.8 * following[0] + 0.2 * following[1])


Run: TypeAlias = tuple[list[Action], list[tuple[int, int]], float]
"""Actions, states as (step, piece held), quality."""


def one_run(chances: Iterator[float]) -> Run:
    """A run of the behaviour policy."""
    held, actions, states = int(next(chances) < 0.2), [], []
    for step in range(HORIZON):
        below = np.cumsum(BEHAVIOUR[step, held])
        action = min(int((below <= next(chances)).sum()), 2)
        actions.append(ACTIONS[action])
        states.append((step, held))
        if action == 2:
            break
        held = held or int(next(chances) < CHANCE[action])
    return actions, states, float(QUALITY[held])


def simulated(seed: int, runs: int) -> list[Run]:
    """Runs of the behaviour policy."""
    chances = iter(np.random.default_rng(seed).random(10 * runs).tolist())
    return [one_run(chances) for _ in range(runs)]


def judged(runs: list[Run], q: Floats) -> OffPolicy:
    """What the runs say of the target, with ``q`` as the estimate of returns."""
    decisions = []
    for actions, states, quality in runs:
        behaviour = [float(BEHAVIOUR[s][ACTIONS.index(a)]) for s, a in zip(states, actions, strict=True)]
        target, values = np.array([TARGET[s] for s in states]), np.array([q[s] for s in states])
        decisions.append(of_run(actions, behaviour, target, values, quality, COST))
    return estimate(logged(decisions), resamples=300)


def test_it_is_right_on_average_and_its_intervals_cover_the_truth() -> None:
    q, truth = enumerated()
    many = [simulated(seed, 200) for seed in range(80)]
    for values in (q, np.zeros_like(q), q[:, ::-1] + 0.3):  # right, none, and wrong
        found = [judged(runs, values) for runs in many]
        estimates = np.array([f.doubly_robust.estimate for f in found])
        assert abs(estimates.mean() - truth) < 3 * estimates.std() / math.sqrt(len(estimates))
        covered = np.mean([f.doubly_robust.low <= truth <= f.doubly_robust.high for f in found])
        assert covered == pytest.approx(0.95, abs=0.05)
    weighted = np.array([f.weighted.estimate for f in found])
    assert weighted.mean() == pytest.approx(truth, abs=0.02)  # biased, but consistent


def full_run(chances: Iterator[float]) -> Run:
    """A run that never finishes before it must."""
    held, actions, states = int(next(chances) < 0.2), [], []
    for step in range(HORIZON - 1):
        action = int(next(chances) < 0.4)
        actions.append(ACTIONS[action])
        states.append((step, held))
        held = held or int(next(chances) < CHANCE[action])
    return [*actions, "FINISH"], [*states, (HORIZON - 1, held)], float(QUALITY[held])


def replayed(runs: list[Run], q: Floats, chosen: Floats) -> OffPolicy:
    """What runs to the full horizon say of ``chosen``."""
    decisions = []
    for actions, states, _quality in runs:
        behaviour = [{"CONTINUE": 0.6, "REVISE": 0.4, "FINISH": 1.0}[a] for a in actions]
        target, values = np.array([chosen[s] for s in states]), np.array([q[s] for s in states])
        qualities = [float(QUALITY[held]) for _step, held in states]
        decisions.append(of_full_run(actions, behaviour, target, values, qualities, COST))
    return estimate(logged(decisions), resamples=300)


def test_on_full_runs_only_going_on_is_weighed() -> None:
    q, truth = enumerated()
    many = [full_runs(seed, 120) for seed in range(60)]
    for values in (q, np.zeros_like(q)):
        found = [replayed(runs, values, TARGET) for runs in many]
        estimates = np.array([f.doubly_robust.estimate for f in found])
        assert abs(estimates.mean() - truth) < 3 * estimates.std() / math.sqrt(len(estimates))
        covered = np.mean([f.doubly_robust.low <= truth <= f.doubly_robust.high for f in found])
        assert covered == pytest.approx(0.95, abs=0.05)
    weighted = np.array([f.weighted.estimate for f in found])
    assert weighted.mean() == pytest.approx(truth, abs=0.02)
    widths = [f.doubly_robust.high - f.doubly_robust.low for f in found]
    plain = [judged(simulated(seed, 120), values).doubly_robust for seed in range(20)]
    assert np.mean(widths) < np.nanmean([p.high - p.low for p in plain])


def full_runs(seed: int, runs: int) -> list[Run]:
    """Runs to the full horizon."""
    chances = iter(np.random.default_rng(seed).random(10 * runs).tolist())
    return [full_run(chances) for _ in range(runs)]


def test_a_policy_that_only_stops_earlier_is_replayed_exactly() -> None:
    runs = full_runs(5, 60)
    stops = np.zeros((HORIZON, 2, 3))
    stops[:, :, 2] = 1.0  # at once
    found = replayed(runs, np.zeros((HORIZON, 2, 3)), stops)
    expected = np.mean([QUALITY[states[0][1]] - COST for _actions, states, _quality in runs])
    assert found.doubly_robust.estimate == pytest.approx(expected)
    assert found.weighted.estimate == pytest.approx(expected)
    assert found.effective == pytest.approx(60)


def test_a_good_model_makes_it_more_precise() -> None:
    q, _ = enumerated()
    runs = simulated(1, 400)
    good, none = judged(runs, q).doubly_robust, judged(runs, np.zeros_like(q)).doubly_robust
    assert good.high - good.low < 0.8 * (none.high - none.low)


def test_the_behaviours_own_value_is_the_mean_of_its_returns() -> None:
    runs = logged(
        [
            [LoggedDecision(1, 1, -0.1, 0.0, 0.0), LoggedDecision(0.5, 0.5, 0.9, 0.0, 0.0)],
            [LoggedDecision(1, 1, 0.3, 0.0, 0.0)],
        ]
    )
    np.testing.assert_allclose(per_run(runs), [0.8, 0.3])


def test_a_policy_that_was_hardly_tried_gets_no_verdict() -> None:
    one = [LoggedDecision(0.9, 0.0, 1.0, 0.0, 0.0)]
    other = [LoggedDecision(0.1, 1.0, 1.0, 0.0, 0.0)]
    found = estimate(logged([one] * 90 + [other] * 10), resamples=50)
    assert found.effective == pytest.approx(10)
    assert "100 runs speak for this policy like 10" in found.refused
    assert math.isnan(found.doubly_robust.estimate)
    assert estimate(logged([one] * 90), resamples=50).effective == 0
    assert estimate(logged([]), resamples=50).refused
    assert not estimate(logged([other] * 60), resamples=50).refused


@pytest.mark.parametrize(
    ("behaviour", "target", "message"), [(0.0, 0.5, "was taken with"), (1.5, 0.5, "1.5"), (0.5, 1.1, "1.1")]
)
def test_impossible_probabilities_are_refused(behaviour: float, target: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        logged([[LoggedDecision(behaviour, target, 0.0, 0.0, 0.0)]])


def test_runs_without_decision_or_end_are_refused() -> None:
    with pytest.raises(ValueError, match="Run 0"):
        logged([[]])
    with pytest.raises(ValueError, match="ended in FINISH"):
        of_run(["CONTINUE"], [1.0], np.zeros((1, 3)), np.zeros((1, 3)), 1.0)


def test_the_rewards_of_a_run_sum_to_its_utility() -> None:
    run = of_run(["CONTINUE", "FINISH"], [0.5, 1.0], np.full((2, 3), 1 / 3), np.ones((2, 3)), 0.8)
    assert sum(one.reward for one in run) == pytest.approx(0.8 - 0.05 * 2)
    assert run[0].v == pytest.approx(1.0)


def test_returns_from_advantages() -> None:
    states = [Seen("", {}, ("CONTINUE", "FINISH")), Seen("", {}, ("CONTINUE", "REVISE"))]
    scores = Scores(np.array([[0.0, -np.inf, 0.2], [0.0, -0.1, -np.inf]]), np.array([0.6, 0.1]))
    np.testing.assert_allclose(
        action_values(states, scores), [[0.4, 0.0, 0.6], [0.1, 0.0, 0.0]], atol=1e-12
    )
