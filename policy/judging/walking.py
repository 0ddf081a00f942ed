"""Walking: the outcome of a question under a policy, read off the question's tree.

On a tree with every path the outcome is exact for any policy. On a real run, which is one path, it is exact
for policies that stop on the path, and unknown (NaN) for those that leave it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from agent.state import Action
from policy.decisions.trees import Floats, Node, Tree, default_action
from policy.serving.scorers import Rule, Scorer, Scores

Decide: TypeAlias = Callable[[Node], Action | None]
"""A policy: the action for a state; None if that is not known (a judge that was not asked)."""


def default_schedule(node: Node) -> Action:
    """The default action, as a policy."""
    return default_action(node.valid)


@dataclass(frozen=True, slots=True)
class Walk:
    """The outcome of one question.

    Attributes:
        path: First letters of the actions taken before finishing, or before the tree ended.
        steps: Research steps taken; NaN if the quality is unknown, so that all means are over the same
            questions.
        quality: Of finishing there; NaN if the walk left the tree or it was not measured.
        detail: Further measures of finishing there, by name.
    """

    path: str
    steps: float = math.nan
    quality: float = math.nan
    detail: Mapping[str, float] = field(default_factory=dict)


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
            return Walk(node.path)
        node = child
    if node.quality is None:
        return Walk(node.path)
    return Walk(node.path, float(node.steps), node.quality, node.detail)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of n questions under one policy, in the order of the trees."""

    walks: Sequence[Walk]

    @property
    def quality(self) -> Floats:
        """Shape (n,); NaN if unknown."""
        return np.array([walk.quality for walk in self.walks], dtype=np.float64)

    @property
    def steps(self) -> Floats:
        """Shape (n,); NaN where the quality is."""
        return np.array([walk.steps for walk in self.walks], dtype=np.float64)

    @property
    def unknown(self) -> int:
        """Questions whose outcome is not known."""
        return int(np.isnan(self.quality).sum())

    def detail(self, name: str) -> Floats:
        """A measure from the walks' details, shape (n,); NaN where it is missing."""
        return np.array([walk.detail.get(name, math.nan) for walk in self.walks], dtype=np.float64)

    def utility(self, cost: float) -> Floats:
        """Quality less ``cost`` times steps, shape (n,)."""
        return self.quality - cost * self.steps


def follow(trees: Iterable[Tree], decide: Decide) -> Outcomes:
    """Walk all trees with one policy."""
    return Outcomes([walk(tree, decide) for tree in trees])


@dataclass(frozen=True, slots=True)
class Scored:
    """Trees with a scorer's scores of all their states.

    Attributes:
        nodes: All states, in the order of the scores.
        rows: The row of each state in ``scores``, by the ``id`` of its `Seen`.
    """

    trees: Sequence[Tree]
    nodes: Sequence[Node]
    rows: Mapping[int, int]
    scores: Scores

    def decide(self, rule: Rule) -> Decide:
        """The rule applied to the scores."""
        return lambda node: rule.action(node.valid, self.scores.advantages[self.rows[id(node.seen)]])


def score(trees: Sequence[Tree], scorer: Scorer) -> Scored:
    """Score all states of all trees in one call."""
    nodes = [node for tree in trees for node in tree.nodes.values()]
    rows = {id(node.seen): row for row, node in enumerate(nodes)}
    return Scored(trees, nodes, rows, scorer.score([node.seen for node in nodes]))
