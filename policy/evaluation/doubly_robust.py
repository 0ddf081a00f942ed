"""What a policy would have been worth on runs that another one decided: for what prefix replay cannot tell.

Per-decision doubly robust estimation (Jiang and Li, 2016, equation 10, undiscounted): backwards through a
run, ``V_t = v(s_t) + p_t (r_t + V_{t+1} - q(s_t, a_t))`` with the ratio ``p_t`` of the target's to the
behaviour's probability of what was done. It is unbiased whatever ``q`` is, as long as the behaviour's
probabilities are the true ones and nowhere 0 where the target's are not; a good ``q`` makes it precise.

Where a run was taken to the full horizon and finishing was measured in every state of it, what the target
gets by finishing there is known, not estimated. Then only going on is weighed: with the target's
probability ``f`` of finishing and the worth ``g`` of it, ``V_t = f g + (1 - f) (v + p (r + V_{t+1} - q))``,
where all but f and g are given that it goes on. A target that finishes on the way is replayed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent.state import Action
from policy.evaluation.bootstrap import NOTHING, RESAMPLES, SEED, Interval, draws, interval
from policy.returns import COST
from policy.scorers import Scores
from policy.trees import INDEX, Floats, Seen, default_action

ENOUGH = 50.0
"""Effective sample size under which there is no verdict."""


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """One decision of a run, and what the target policy makes of it.

    Attributes:
        behaviour: Probability with which the acting source took the action, in (0, 1].
        target: Probability with which the target policy takes it, 0 to 1.
        reward: What it brought at once.
        q: Estimated return of the action from here on; any estimate will do.
        v: The same, averaged over the target policy's actions.
        stop: Probability with which the target finishes here, where the worth of that was measured
            whatever was done; else 0, and ``target`` and ``v`` are given that it does not.
        worth: Of finishing here.
    """

    behaviour: float
    target: float
    reward: float
    q: float
    v: float
    stop: float = 0.0
    worth: float = 0.0


@dataclass(frozen=True, slots=True)
class Logged:
    """n runs of at most t decisions; shorter ones are filled up with ratio 1 and zeros.

    Attributes:
        ratios: Shape (n, t).
        rewards: Shape (n, t).
        q: Shape (n, t).
        v: Shape (n, t).
        stop: Shape (n, t).
        worth: Shape (n, t).
    """

    ratios: Floats
    rewards: Floats
    q: Floats
    v: Floats
    stop: Floats
    worth: Floats


def logged(runs: Sequence[Sequence[LoggedDecision]]) -> Logged:
    """The runs as arrays.

    Raises:
        ValueError: a run has no decision, or a probability is out of its range.
    """
    shape = (len(runs), max((len(run) for run in runs), default=0))
    found = Logged(np.ones(shape), *(np.zeros(shape) for _ in range(5)))
    for i, run in enumerate(runs):
        if not run:
            raise ValueError(f"Run {i} has no decision.")
        for t, one in enumerate(run):
            if not 0 < one.behaviour <= 1:
                raise ValueError(f"Decision {t} of run {i} was taken with probability {one.behaviour}.")
            for probability in (one.target, one.stop):
                if not 0 <= probability <= 1:
                    raise ValueError(f"The target's probability at {t} of run {i} is {probability}.")
            found.ratios[i, t] = one.target / one.behaviour
            found.rewards[i, t], found.q[i, t], found.v[i, t] = one.reward, one.q, one.v
            found.stop[i, t], found.worth[i, t] = one.stop, one.worth
    return found


@dataclass(frozen=True, slots=True)
class OffPolicy:
    """What the logs say of the target policy's mean return.

    Attributes:
        doubly_robust: The estimate to quote; nothing where it is refused.
        weighted: By weighted importance sampling of whole runs: biased, and less so with more runs; far
            off the other one is a sign of a bad ``q`` or of too few runs. Nothing where it is refused.
        effective: Effective sample size ``(sum w)^2 / sum w^2`` of the runs' weights.
        refused: Why there is no verdict; "" where there is one.
    """

    doubly_robust: Interval
    weighted: Interval
    effective: float
    refused: str = ""


def per_run(runs: Logged) -> Floats:
    """The doubly robust estimate from each run alone, shape (n,): independent, so their mean is the
    estimate and their bootstrap its interval.
    """
    value = np.zeros(runs.ratios.shape[0])
    for t in range(runs.ratios.shape[1] - 1, -1, -1):
        going = runs.v[:, t] + runs.ratios[:, t] * (runs.rewards[:, t] + value - runs.q[:, t])
        value = runs.stop[:, t] * runs.worth[:, t] + (1 - runs.stop[:, t]) * going
    return value


def estimate(runs: Logged, resamples: int = RESAMPLES, seed: int = SEED) -> OffPolicy:
    """The target policy's mean return with its interval, runs resampled; or why there is none."""
    weights, returns = _weighted(runs)
    squares = float((weights**2).sum())
    effective = float(weights.sum()) ** 2 / squares if squares > 0 else 0.0
    if effective < ENOUGH:
        return OffPolicy(NOTHING, NOTHING, effective, _refusal(effective, len(weights)))
    drawn = draws(len(weights), resamples, seed)
    means = drawn.means(np.stack([per_run(runs), returns, weights], axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        weighted = means[:, 1] / means[:, 2]
    return OffPolicy(interval(means[:, 0], len(weights)), interval(weighted, len(weights)), effective)


def _weighted(runs: Logged) -> tuple[Floats, Floats]:
    """How much of the target each run is, and that times its return; shape (n,) each."""
    n, horizon = runs.ratios.shape
    reaching, earned = np.ones(n), np.zeros(n)
    weights, returns = np.zeros(n), np.zeros(n)
    for t in range(horizon):
        stopping = reaching * runs.stop[:, t]
        weights += stopping
        returns += stopping * (earned + runs.worth[:, t])
        reaching = reaching * (1 - runs.stop[:, t]) * runs.ratios[:, t]
        earned = earned + runs.rewards[:, t]
    return weights + reaching, returns + reaching * earned


def _refusal(effective: float, runs: int) -> str:
    return (
        f"The {runs} runs speak for this policy like {effective:.0f} of its own, and {ENOUGH:.0f} are "
        "needed: it does what was hardly ever tried. Collect with more exploration, or more runs."
    )


def of_run(
    actions: Sequence[Action],
    behaviour: Sequence[float],
    target: Floats,
    values: Floats,
    quality: float,
    cost: float = COST,
) -> list[LoggedDecision]:
    """A run that ended in FINISH, with the return of quality less ``cost`` times its research steps.

    Args:
        actions: What was done, t decisions.
        behaviour: With which probability.
        target: Shape (t, 3), columns as `policy.trees.INDEX`: the target policy's probabilities.
        values: Shape (t, 3): estimated returns, see `action_values`.
        quality: Of the answer.
        cost: Of a step, in quality.

    Raises:
        ValueError: the run does not end in FINISH.
    """
    if not actions or actions[-1] != "FINISH":
        raise ValueError("Only a run that ended in FINISH has a return.")
    decisions = []
    for t, (action, probability) in enumerate(zip(actions, behaviour, strict=True)):
        at = INDEX[action]
        # The step before the first decision is paid for at the end, with the quality.
        reward = quality - cost if action == "FINISH" else -cost
        average = float((target[t] * values[t]).sum())
        decisions.append(
            LoggedDecision(probability, float(target[t, at]), reward, float(values[t, at]), average)
        )
    return decisions


def of_full_run(
    actions: Sequence[Action],
    behaviour: Sequence[float],
    target: Floats,
    values: Floats,
    qualities: Sequence[float],
    cost: float = COST,
) -> list[LoggedDecision]:
    """A run to the full horizon whose every state was measured, whatever was done in it.

    Args:
        actions: As in `of_run`.
        behaviour: As in `of_run`.
        target: As in `of_run`.
        values: As in `of_run`.
        qualities: Of finishing in each of the t states.
        cost: Of a step, in quality.

    Raises:
        ValueError: the run does not end in FINISH.
    """
    finish = INDEX["FINISH"]
    found = []
    for t, plain in enumerate(of_run(actions, behaviour, target, values, qualities[-1], cost)):
        stop = float(target[t, finish])
        going = target[t].copy()
        going[finish] = 0.0
        if stop < 1:
            going /= 1 - stop
        found.append(
            replace(
                plain,
                target=min(1.0, float(going[INDEX[actions[t]]])),
                v=float((going * values[t]).sum()),
                stop=stop,
                worth=qualities[t] - cost,
            )
        )
    return found


def action_values(states: Sequence[Seen], scores: Scores) -> Floats:
    """Estimated returns of all actions from a scorer that learns values, shape (n, 3); 0 if not valid.

    FINISH is worth its sufficiency, and every other action as much more as its advantage is higher;
    where FINISH is not valid, the default action stands in its place.
    """
    values = np.zeros((len(states), 3))
    for row, state in enumerate(states):
        base: Action = "FINISH" if "FINISH" in state.valid else default_action(state.valid)
        for action in state.valid:
            more = scores.advantages[row, INDEX[action]] - scores.advantages[row, INDEX[base]]
            values[row, INDEX[action]] = scores.sufficiency[row] + more
    return values
