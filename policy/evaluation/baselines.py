"""What a policy is held against, made ready once: and how it stands against all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policy.evaluation.bootstrap import RESAMPLES, SEED, Draws, Interval, draws, means
from policy.evaluation.measures import Headroom, Matched, against_frontier, headroom
from policy.evaluation.oracle import frontier_of_oracles, oracle
from policy.evaluation.schedules import UNTRAINED, grid, schedule
from policy.evaluation.walking import Outcomes, follow
from policy.returns import COST
from policy.trees import Tree


@dataclass(frozen=True, slots=True)
class Baselines:
    """Baselines on one set of questions.

    Attributes:
        schedules: The best schedule of each number of steps, as the training questions chose it; they
            span the frontier.
        best: The schedule with the most utility at ``cost``, chosen on the training questions too.
        untrained: `policy.evaluation.schedules.UNTRAINED`, by name.
        oracles: Clairvoyant policies, which span the clairvoyant frontier.
        oracle: The one for the utility at ``cost``.
        cost: What a step costs, in quality.
        drawn: Resamples of the questions.
    """

    schedules: Sequence[Outcomes]
    best: Outcomes
    untrained: Mapping[str, Outcomes]
    oracles: Sequence[Outcomes]
    oracle: Outcomes
    cost: float
    drawn: Draws


@dataclass(frozen=True, slots=True)
class Standing:
    """How a policy stands.

    Attributes:
        schedules: Against the frontier of schedules, quality for quality.
        complete: The same for the share of questions whose evidence is complete.
        headroom: Shares of what a clairvoyant gains.
        utility: Utility at the cost, less that of each single baseline, by its name.
        quality: Quality, less that of each single baseline.
        steps: Steps, less those of each single baseline.
    """

    schedules: Matched
    complete: Matched
    headroom: Headroom
    utility: Mapping[str, Interval]
    quality: Mapping[str, Interval]
    steps: Mapping[str, Interval]


def baselines(
    training: Sequence[Tree],
    trees: Sequence[Tree],
    cost: float = COST,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Baselines:
    """Choose the schedules on ``training``, and walk every baseline over ``trees``.

    Raises:
        ValueError: there are no trees, or no schedule can be followed on any training tree.
    """
    found = grid(training)
    best = found.best_of_all(cost)
    return Baselines(
        [follow(named(letters), trees, schedule(letters), cost) for letters in found.best().values()],
        follow(f"best schedule, {named(best)}", trees, schedule(best), cost),
        {name: follow(name, trees, decide, cost) for name, decide in UNTRAINED.items()},
        frontier_of_oracles(trees),
        oracle(trees, cost),
        cost,
        draws(len(trees), resamples, seed),
    )


def named(letters: str) -> str:
    """How a schedule is called: ``3 steps, CR``."""
    return f"{len(letters) + 1} steps, {letters}" if letters else "1 step"


def standing(policy: Outcomes, against: Baselines, others: Sequence[Outcomes] = ()) -> Standing:
    """How ``policy`` stands against the baselines, and against ``others`` one by one.

    All must have been walked over the same trees in the same order.
    """
    single = [against.best, *against.untrained.values(), *others]
    drawn, cost = against.drawn, against.cost
    return Standing(
        against_frontier(policy, against.schedules, drawn),
        against_frontier(policy, against.schedules, drawn, "complete"),
        headroom(policy, against.schedules, against.oracles, against.best, against.oracle, cost, drawn),
        means({o.name: policy.utility(cost) - o.utility(cost) for o in single}, drawn),
        means({o.name: policy.quality - o.quality for o in single}, drawn),
        means({o.name: policy.steps - o.steps for o in single}, drawn),
    )
