"""The best fixed schedules and a clairvoyant: what research holds a policy against.

A *schedule* is a word over C and R that is followed whatever is found, and then finishes. Comparing with a
fixed number of CONTINUEs alone flatters a learned policy that may also REVISE; the best schedule over the
same actions does not.

A set of policies spans a *frontier*: the most mean quality that a mixture of them (choosing one by lot for
each question) reaches with at most x mean steps. It is the upper concave hull of their points (mean steps,
mean quality), continued flat to the right, since nobody has to spend more. Beating single schedules
that happen to be dearer is easy; beating their mixtures is the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from agent.state import Action
from policy.decisions.returns import COST
from policy.decisions.trees import Floats, Node, Tree
from policy.judging.bootstrap import NOTHING, RESAMPLES, SEED, Draws, Interval, draws, interval, means
from policy.judging.walking import Decide, Outcomes, follow, follow_each, is_stop
from tests.benchmarks.untrained import UNTRAINED, stop

_ACTIONS: dict[str, Action] = {"C": "CONTINUE", "R": "REVISE"}
_OTHER: dict[str, str] = {"C": "R", "R": "C"}
COSTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0)
"""The costs whose oracles span the clairvoyant frontier: from "whatever it takes" to "at once"."""


def schedule(letters: str) -> Decide:
    """Follow ``letters``, then finish.

    Where a letter is not valid the other one is taken, and where neither is, it finishes: so no schedule
    needs more steps than it has letters, but for the first one, and questions whose plan and budget end
    early need fewer. Where FINISH is not valid it works the plan on.
    """

    def decide(node: Node) -> Action:
        if len(node.path) >= len(letters):
            return stop(node)
        wanted = letters[len(node.path)]
        for letter in (wanted, _OTHER[wanted]):
            if _ACTIONS[letter] in node.valid:
                return _ACTIONS[letter]
        return "FINISH"

    return decide


def fixed(steps: int) -> Decide:
    """Always ``steps`` research steps: CONTINUE; when the plan is done REVISE if valid, else finish."""
    return schedule("C" * (steps - 1))


@dataclass(frozen=True, slots=True)
class Grid:
    """Every schedule on every tree.

    Attributes:
        letters: The schedules, shorter ones first.
        steps: Shape (n, schedules): steps that each needs for each question; NaN where not known.
        quality: Shape (n, schedules); NaN likewise.
    """

    letters: tuple[str, ...]
    steps: Floats
    quality: Floats

    def best(self, cost: float = 0.0) -> dict[int, str]:
        """The best schedule of each number of steps k: the most mean quality less ``cost`` times steps.

        Of equals the one with fewer steps, then the first in the alphabet. Means are over the questions
        for which it is known; a schedule that is known for none is left out.
        """
        chosen: dict[int, tuple[tuple[float, float, str], str]] = {}
        for column, letters in enumerate(self.letters):
            known = ~np.isnan(self.quality[:, column])
            if not known.any():
                continue
            steps = float(self.steps[known, column].mean())
            quality = float(self.quality[known, column].mean())
            rank = (round(-(quality - cost * steps), 12), round(steps, 12), letters)
            k = len(letters) + 1
            if k not in chosen or rank < chosen[k][0]:
                chosen[k] = (rank, letters)
        return {k: letters for k, (_, letters) in chosen.items()}

    def best_of_all(self, cost: float = COST) -> str:
        """The schedule with the most mean quality less ``cost`` times steps.

        Raises:
            ValueError: no schedule is known for any question.
        """
        best = self.best(cost)
        if not best:
            raise ValueError("No schedule can be followed on any of these trees.")
        return max(best.values(), key=lambda letters: self._worth(letters, cost))

    def _worth(self, letters: str, cost: float) -> float:
        column = self.letters.index(letters)
        return float(np.nanmean(self.quality[:, column] - cost * self.steps[:, column]))


def grid(trees: Sequence[Tree], most: int | None = None) -> Grid:
    """Follow all schedules of up to ``most`` steps (the trees' longest path where None) on all trees."""
    if most is None:
        most = max((node.steps for tree in trees for node in tree.nodes.values()), default=1)
    words = ["".join(word) for k in range(most) for word in product("CR", repeat=k)]
    steps = np.full((len(trees), len(words)), np.nan)
    quality = np.full((len(trees), len(words)), np.nan)
    for row, tree in enumerate(trees):
        reached: dict[str, Node | None] = {"": tree.root}
        for column, word in enumerate(words):
            if word:
                reached[word] = _next(tree, reached[word[:-1]], word[-1])
            end = _finish(tree, reached[word])
            if end is not None and end.quality is not None:
                steps[row, column], quality[row, column] = end.steps, end.quality
    return Grid(tuple(words), steps, quality)


def _next(tree: Tree, node: Node | None, wanted: str) -> Node | None:
    """Where one more letter leads: the same state where the schedule has finished, None if not known."""
    if node is None:
        return None
    for letter in (wanted, _OTHER[wanted]):
        if _ACTIONS[letter] in node.valid:
            return tree.child(node, _ACTIONS[letter])
    return node


def _finish(tree: Tree, node: Node | None) -> Node | None:
    while node is not None and (action := stop(node)) != "FINISH":
        node = tree.child(node, action)
    return node


def best_stop(tree: Tree, cost: float = COST) -> Node | None:
    """The stop with the most quality less ``cost`` times steps; of equals the one with fewest steps, then
    the first path. None where no quality is known.

    It bounds every policy on a tree that holds every path, and on others every policy that is known there.
    """

    def rank(node: Node) -> tuple[float, int, str]:
        return round(cost * node.steps - float(node.quality or 0.0), 9), node.steps, node.path

    return min(_stops(tree), key=rank, default=None)


def oracle(trees: Sequence[Tree], cost: float = COST) -> Outcomes:
    """Finishes each question at its `best_stop`."""
    deciders = [_towards(best_stop(tree, cost)) for tree in trees]
    return follow_each(f"oracle at cost {cost:g}", trees, deciders)


def frontier_of_oracles(trees: Sequence[Tree]) -> list[Outcomes]:
    """The oracles at `COSTS`: their mixtures are what a clairvoyant can do with a mean number of steps."""
    return [oracle(trees, cost) for cost in COSTS]


def _stops(tree: Tree) -> Iterator[Node]:
    return (node for node in tree.nodes.values() if is_stop(node))


def _towards(end: Node | None) -> Decide:
    """Goes to ``end`` and finishes there; where there is none, nothing is known."""
    if end is None:
        return lambda _node: None
    path = end.path
    return lambda node: (
        "FINISH" if node.path == path else "CONTINUE" if path[len(node.path)] == "C" else "REVISE"
    )


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
class Baselines:
    """Baselines on one set of questions.

    Attributes:
        schedules: The best schedule of each number of steps, as the training questions chose it; they
            span the frontier.
        best: The schedule with the most utility at ``cost``, chosen on the training questions too.
        untrained: `policy.judging.schedules.UNTRAINED`, by name.
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
        [follow(named(letters), trees, schedule(letters)) for letters in found.best().values()],
        follow(f"best schedule, {named(best)}", trees, schedule(best)),
        {name: follow(name, trees, decide) for name, decide in UNTRAINED.items()},
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
