"""Walking: the outcome of a question under a policy, read off the question's tree.

On a tree with every path the outcome is exact for any policy. On a real run, which is one path, it is exact
for policies that stop on the path, and unknown (NaN) for those that leave it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from agent.state import Action
from policy.decisions.trees import Floats, Node, Seen, Tree
from policy.serving.scorers import Rule, Scorer, Scores

Decide: TypeAlias = Callable[[Node], Action | None]
"""A policy: the action for a state; None if that is not known (a judge that was not asked)."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The outcome of one question.

    Attributes:
        path: First letters of the actions taken before finishing, or before the tree ended.
        steps: Research steps taken; NaN if the walk left the tree.
        quality: Of finishing there; NaN if the walk left the tree or it was not measured.
        detail: Further measures of finishing there, by name.
    """

    question: str
    dataset: str
    path: str
    steps: float
    quality: float
    detail: Mapping[str, float] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether the walk ended where the quality is known."""
        return not math.isnan(self.quality)


def walk(tree: Tree, decide: Decide) -> Walk:
    """The outcome of the question under ``decide``.

    Raises:
        ValueError: it chose an action that is not valid.
    """
    node = tree.root
    while True:
        action = decide(node)
        if action is not None and action not in node.valid:
            raise ValueError(f"{action} is not valid at {node.path!r} of {tree.question}: {node.valid}")
        if action == "FINISH":
            break
        child = tree.child(node, action) if action else None
        if child is None:
            return Walk(tree.question, tree.dataset, node.path, math.nan, math.nan)
        node = child
    if node.quality is None:
        return Walk(tree.question, tree.dataset, node.path, float(node.steps), math.nan)
    return Walk(tree.question, tree.dataset, node.path, float(node.steps), node.quality, node.detail)


@dataclass(frozen=True, slots=True)
class Scored:
    """Trees with a scorer's scores of all their states.

    ``rows`` maps, for each tree, each path to its row in ``scores``.
    """

    trees: Sequence[Tree]
    rows: Sequence[Mapping[str, int]]
    scores: Scores

    def deciders(self, rule: Rule) -> list[Decide]:
        """The rule applied to the scores: one policy per tree."""
        return [self._decider(tree_rows, rule) for tree_rows in self.rows]

    def _decider(self, tree_rows: Mapping[str, int], rule: Rule) -> Decide:
        return lambda node: rule.action(node.valid, self.scores.advantages[tree_rows[node.path]])


def score(trees: Sequence[Tree], scorer: Scorer) -> Scored:
    """Score all states of all trees in one call."""
    rows: list[dict[str, int]] = []
    states: list[Seen] = []
    for tree in trees:
        rows.append({path: len(states) + i for i, path in enumerate(tree.nodes)})
        states += [node.seen for node in tree.nodes.values()]
    return Scored(trees, rows, scorer.score(states))


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of n questions under one policy.

    Attributes:
        walks: One per question, in the order of the trees.
        quality: Shape (n,); NaN if unknown.
        steps: Shape (n,); NaN if the quality is unknown, so that all means are over the same questions.
    """

    name: str
    walks: Sequence[Walk]
    quality: Floats
    steps: Floats

    @property
    def unknown(self) -> int:
        """Questions whose outcome is not known."""
        return int(np.isnan(self.quality).sum())

    def column(self, name: str) -> Floats:
        """``quality``, or a measure from the walks' details, shape (n,); NaN where it is missing."""
        if name == "quality":
            return self.quality
        return np.array([walk.detail.get(name, math.nan) for walk in self.walks], dtype=np.float64)

    def utility(self, cost: float) -> Floats:
        """Quality less ``cost`` times steps, shape (n,)."""
        return self.quality - cost * self.steps


def outcomes(name: str, walks: Sequence[Walk]) -> Outcomes:
    """Collect the walks as columns."""
    quality = np.array([w.quality for w in walks], dtype=np.float64)
    steps = np.array([w.steps if w.known else math.nan for w in walks], dtype=np.float64)
    return Outcomes(name, list(walks), quality, steps)


def follow(name: str, trees: Sequence[Tree], decide: Decide) -> Outcomes:
    """Walk all trees with one policy."""
    return outcomes(name, [walk(tree, decide) for tree in trees])


def follow_each(name: str, trees: Sequence[Tree], deciders: Sequence[Decide]) -> Outcomes:
    """Walk each tree with its own policy, as `Scored.deciders` gives them."""
    return outcomes(name, [walk(tree, decide) for tree, decide in zip(trees, deciders, strict=True)])
