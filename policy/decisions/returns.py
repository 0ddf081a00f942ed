"""Examples to learn from: each state with the return of each action, by backward induction.

FINISH is worth the quality of finishing; CONTINUE and REVISE are worth what follows from where they lead,
less the cost of a step. What follows is decided by a continuation policy, not by hindsight: a policy that
believed in the best path would search too long. The continuation is the default schedule at first, then the
learned policy on questions it was not trained on (fitted policy iteration: Ernst, Geurts and Wehenkel,
JMLR 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from agent.state import ACTIONS, Action
from policy.decisions.trees import INDEX, Floats, Node, Seen, Tree, default_action


@dataclass(frozen=True, slots=True)
class Examples:
    """n states with their targets.

    Attributes:
        questions: Id of each state's question, for splits.
        datasets: Name of each state's data set.
        values: Shape (n, 3), columns as `trees.INDEX`: return of each action, the quality of where it leads
            less the cost of the steps from here on; NaN where the action is not valid or nobody knows.
        advantages: Shape (n, 3): ``values`` less that of the default action; NaN likewise.
        sufficient: Shape (n,): as `policy.decisions.trees.Node.sufficient`.
        weights: Shape (n,): how much each state counts.
    """

    states: Sequence[Seen]
    questions: Sequence[str]
    datasets: Sequence[str]
    values: Floats
    advantages: Floats
    sufficient: Floats
    weights: Floats

    def __len__(self) -> int:
        return len(self.states)

    def take(self, at: Sequence[int]) -> Examples:
        """Some of them, by index."""
        rows = np.asarray(at, dtype=np.int64)
        return Examples(
            [self.states[i] for i in at],
            [self.questions[i] for i in at],
            [self.datasets[i] for i in at],
            self.values[rows],
            self.advantages[rows],
            self.sufficient[rows],
            self.weights[rows],
        )


COST = 0.05
"""Of a research step, in units of quality."""
_LABEL_WEIGHT = 4.0  # a person's word counts as much as a few measured states

Continuation: TypeAlias = Callable[[Tree, Node], Action]
"""What is done in a state from which a return is counted."""


def default_continuation(_tree: Tree, node: Node) -> Action:
    """The default schedule, whatever the tree."""
    return default_action(node.valid)


def values(tree: Tree, cost: float, continuation: Continuation) -> dict[str, Floats]:
    """Path to the value of each action there, shape (3,), NaN where it is not valid or not known."""
    known: dict[str, Floats] = {}
    following: dict[str, float] = {}
    for path in sorted(tree.nodes, key=len, reverse=True):  # children before their parents
        node = tree.nodes[path]
        value = np.full(len(ACTIONS), np.nan)
        if node.quality is not None and "FINISH" in node.valid:
            value[INDEX["FINISH"]] = node.quality
        for action in node.valid:
            child = tree.child(node, action)
            if child is not None:
                value[INDEX[action]] = following[child.path] - cost
        known[path] = value
        chosen = value[INDEX[continuation(tree, node)]]
        # Where the continuation leads nowhere known, finishing is what is known.
        following[path] = float(value[INDEX["FINISH"]] if np.isnan(chosen) else chosen)
    return known


def examples(
    trees: Sequence[Tree], cost: float = COST, continuation: Continuation = default_continuation
) -> Examples:
    """Every state in which there is something to choose, with the worth of what can be chosen.

    Each question weighs the same, but a person's label makes its state count more: the labelled action is
    worth as much as the best known one and a step's cost more.
    """
    states, questions, datasets, rows, sufficient, weights = [], [], [], [], [], []
    for tree in trees:
        known = values(tree, cost, continuation)
        chosen = [node for node in tree.nodes.values() if _tells(node, known[node.path])]
        for node in chosen:
            value = known[node.path].copy()
            weight = 1.0 / len(chosen)
            if node.label is not None and node.label in node.valid:
                value = _labelled(node, value, cost)
                weight *= _LABEL_WEIGHT
            states.append(node.seen)
            questions.append(tree.question)
            datasets.append(tree.dataset)
            rows.append(value)
            sufficient.append(node.sufficient)
            weights.append(weight)
    worth = np.array(rows, dtype=np.float64).reshape(-1, len(ACTIONS))
    default = np.array([INDEX[default_action(state.valid)] for state in states], dtype=np.int64)
    base = worth[np.arange(len(states)), default]
    return Examples(
        states,
        questions,
        datasets,
        worth,
        worth - base[:, None],
        np.array(sufficient, dtype=np.float64),
        np.array(weights, dtype=np.float64),
    )


def _tells(node: Node, value: Floats) -> bool:
    """A state teaches if it is measured; where one thing alone can be done, only how good finishing is."""
    return node.label is not None or not bool(np.all(np.isnan(value)))


def _labelled(node: Node, value: Floats, cost: float) -> Floats:
    best = np.nanmax(value) if not np.all(np.isnan(value)) else 0.0
    labelled = np.where(np.isnan(value), best, value)
    labelled[[INDEX[action] for action in ACTIONS if action not in node.valid]] = np.nan
    assert node.label is not None
    labelled[INDEX[node.label]] = best + cost
    return np.asarray(labelled, dtype=np.float64)


def following(decisions: Mapping[tuple[str, str], Action]) -> Continuation:
    """The continuation that does what ``decisions`` say of (question, path), and the default elsewhere."""

    def decide(tree: Tree, node: Node) -> Action:
        return decisions.get((tree.question, node.path), default_action(node.valid))

    return decide
