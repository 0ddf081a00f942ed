"""Policies that learn nothing, or nothing but an order of actions: what a learned policy has to beat.

A *schedule* is a word over C and R that is followed whatever is found, and then finishes. Comparing with a
fixed number of CONTINUEs alone flatters a learned policy that may also REVISE; the best schedule over the
same actions does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from agent.state import Action
from policy.evaluation.walking import Decide, go_on
from policy.returns import COST
from policy.trees import Floats, Node, Tree, default_action

_ACTIONS: dict[str, Action] = {"C": "CONTINUE", "R": "REVISE"}
_OTHER: dict[str, str] = {"C": "R", "R": "C"}


def stop(node: Node) -> Action:
    """FINISH; where that is not valid yet (nothing is held), what the default policy does."""
    return "FINISH" if "FINISH" in node.valid else default_action(node.valid)


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


def plan_done(node: Node) -> Action:
    """The default policy: work the plan off, then finish."""
    return default_action(node.valid)


def rules(node: Node) -> Action:
    """`agent.cognition.deciding.Rules`, from a state's features: the state itself is not kept in a tree.

    Rules revises early when an open step refers to a step that found nothing. Features only say that an
    open step refers to an earlier one and that something is missing: the same for all plans in which
    every reference is to the step before, as those of two steps are.
    """
    seen = node.seen.features
    missing, blocked = seen["missing"] > 0, seen["missing"] > 0 and seen["open_references"] > 0
    once_more = missing and not seen["open"] and not seen["revised_last"]
    if "REVISE" in node.valid and (blocked or once_more):
        return "REVISE"
    if "CONTINUE" in node.valid:
        return "CONTINUE"
    return "FINISH" if "FINISH" in node.valid else node.valid[0]


def answer_repeats(node: Node) -> Action:
    """Finish when a finding's answer repeats or a search brought nothing new; until then, work on.

    The training-free rule of TASR (arXiv 2606.13814) without its logit margin, which a tree does not hold.
    """
    seen = node.seen.features
    return stop(node) if seen["answer_repeats"] > 0 or seen["barren"] > 0 else go_on(node)


def repeats_or_plan_done(node: Node) -> Action:
    """`answer_repeats`, and finish when the plan is done."""
    seen = node.seen.features
    return stop(node) if seen["answer_repeats"] > 0 or seen["barren"] > 0 else plan_done(node)


UNTRAINED: dict[str, Callable[[Node], Action]] = {
    "plan done": plan_done,
    "rules": rules,
    "answer repeats": answer_repeats,
    "answer repeats or plan done": repeats_or_plan_done,
}
"""Policies that need no training, by the name they have in a table."""


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
