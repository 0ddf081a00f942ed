"""Returns: what each action is worth in each state of a tree, by backward induction.

FINISH is worth the quality of finishing; CONTINUE and REVISE are worth what follows from where they lead,
less the cost of a step. What follows is decided by a continuation policy. The best of all that follows in
hindsight would be too good to be true: nobody knows in advance which path pays, and a policy that believes
it searches too long. So the continuation is the default schedule at first, then the learned policy itself,
as it decides on questions it was not trained on (fitted policy iteration: Ernst, Geurts and Wehenkel,
JMLR 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from agent.state import ACTIONS, Action
from policy.examples import Examples
from policy.trees import INDEX, Floats, Node, Tree, default_action

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

    Each question weighs the same, however many states it has, except that a person's label makes its state
    count more: the labelled action is worth as much as the best known one and a step's cost more.
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
            sufficient.append(_sufficient(node))
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


def _sufficient(node: Node) -> float:
    if "complete" in node.detail:
        return float(node.detail["complete"])
    return node.quality if node.quality is not None else float("nan")


def following(decisions: Mapping[tuple[str, str], Action]) -> Continuation:
    """The continuation that does what ``decisions`` say of (question, path), and the default elsewhere."""

    def decide(tree: Tree, node: Node) -> Action:
        return decisions.get((tree.question, node.path), default_action(node.valid))

    return decide
