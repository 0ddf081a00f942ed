"""Two policies on the same questions: what each is worth, by how much they differ, how often they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policy.decisions.reading import distinct, load_trees, trees_of
from policy.decisions.returns import COST
from policy.decisions.trees import Tree, default_action, split
from policy.judging.bootstrap import Interval, difference, draws, mean
from policy.judging.gate import Opponent
from policy.judging.walking import Outcomes, Scored, follow, follow_each, score
from traces.errors import DeepthinkError
from traces.store import Store

DEFAULT = "default schedule"


class NothingToCompare(DeepthinkError):
    """Raised when there is no question to compare policies on."""

    title = "Nothing to compare on"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Worth:
    """What becomes of the questions under one policy, on average over those whose outcome is known.

    Attributes:
        name: Of the policy.
        quality: Of the answers, or of the evidence where that is what was measured.
        complete: Share of the questions whose evidence is complete; nothing where that was not measured.
        steps: Research steps.
        utility: Quality less the cost of the steps.
        known: Questions whose outcome is known.
    """

    name: str
    quality: Interval
    complete: Interval
    steps: Interval
    utility: Interval
    known: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two policies, and the default schedule beside them.

    Attributes:
        questions: How many were asked.
        cost: Of a step, in quality.
        worth: Of the first, the second and the default schedule.
        utility: The first one's less the second one's, paired by question.
        quality: Likewise.
        steps: Likewise.
        agreement: Share of the states with a choice in which both do the same.
        states: How many those are.
    """

    questions: int
    cost: float
    worth: tuple[Worth, ...]
    utility: Interval
    quality: Interval
    steps: Interval
    agreement: float
    states: int


def questions(sources: Sequence[Path], own: Store | None, *, everything: bool = False) -> list[Tree]:
    """Questions to compare on.

    Args:
        sources: Collected stores (``.duckdb``) and exported traces.
        own: The person's store, where their own runs count as well.
        everything: All questions, not only the held-out fifth that no training learns from, wherever it is
            made: for data that neither policy was trained on.

    Raises:
        NoSuchSource: there is no such file.
        NothingToCompare: there is no question that can be followed.
        BadTraces: a file is no export of traces.
        StoreError: a store cannot be read.
    """
    trees = [tree for source in sources for tree in trees_of(source)]
    if own is not None:
        trees += load_trees(own).trees
    trees = distinct(trees)
    if not everything:
        _, trees = split(trees)
    if not trees:
        raise NothingToCompare(
            "There is no held-out question whose outcome is known.",
            "`deepthink collect` makes some; `--all` compares on every question there is.",
        )
    return trees


def compare(first: Opponent, second: Opponent, trees: Sequence[Tree], cost: float = COST) -> Comparison:
    """Walk both over all trees.

    On a question that holds one path only, a policy is followed as long as it stays on it: what it would
    have found elsewhere nobody knows, and such a question is left out of the means.

    Args:
        first: A policy.
        second: Another one.
        trees: Questions that neither was trained on.
        cost: Of a step, in quality.

    Raises:
        ValueError: there are no trees.
    """
    drawn = draws(len(trees))
    scored = [score(trees, policy.scorer) for policy in (first, second)]
    one, two = (
        follow_each(policy.name, trees, made.deciders(policy.rule))
        for policy, made in zip((first, second), scored, strict=True)
    )
    default = follow(DEFAULT, trees, lambda node: default_action(node.valid))

    def worth(found: Outcomes) -> Worth:
        return Worth(
            found.name,
            mean(found.quality, drawn),
            mean(found.column("complete"), drawn),
            mean(found.steps, drawn),
            mean(found.utility(cost), drawn),
            len(trees) - found.unknown,
        )

    same = _agreements(scored[0], first, scored[1], second)
    return Comparison(
        questions=len(trees),
        cost=cost,
        worth=(worth(one), worth(two), worth(default)),
        utility=difference(one.utility(cost), two.utility(cost), drawn),
        quality=difference(one.quality, two.quality, drawn),
        steps=difference(one.steps, two.steps, drawn),
        agreement=float(np.mean(same)) if same else float("nan"),
        states=len(same),
    )


def _agreements(made: Scored, first: Opponent, other: Scored, second: Opponent) -> list[bool]:
    """For each state with a choice, whether both do the same there."""
    states = [node.seen for tree in made.trees for node in tree.nodes.values()]
    ours = first.rule.actions(states, made.scores)
    theirs = second.rule.actions(states, other.scores)
    return [a == b for a, b, state in zip(ours, theirs, states, strict=True) if len(state.valid) > 1]
