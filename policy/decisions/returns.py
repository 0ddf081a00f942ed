"""Examples to learn from: each state with the return of each action, by backward induction.

FINISH is worth the quality of finishing; CONTINUE and REVISE are worth the return of the state they lead
to, less the cost of a step. That return follows a continuation policy, not hindsight: a policy that
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
        values: Shape (n, 3), columns as `trees.INDEX`: return of each action, the quality reached less the
            cost of the steps from here on; NaN where the action is not valid or its return is unknown.
        advantages: Shape (n, 3): ``values`` less that of the default action; NaN likewise.
        sufficient: Shape (n,): as `policy.decisions.trees.Node.sufficient`.
        weights: Shape (n,): weight of each state.
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
        """The examples at the indices ``at``."""
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
"""Cost of a research step, in units of quality."""
_LABEL_WEIGHT = 4.0  # a person's label counts as much as a few measured states

Continuation: TypeAlias = Callable[[Tree, Node], Action]
"""The action taken in a state when a return is computed."""


def default_continuation(_tree: Tree, node: Node) -> Action:
    """The default schedule, for every tree."""
    return default_action(node.valid)


def values(tree: Tree, cost: float, continuation: Continuation) -> dict[str, Floats]:
    """Map each path to the value of each action there, shape (3,), NaN where not valid or not known."""
    values_at: dict[str, Floats] = {}
    returns: dict[str, float] = {}
    for path in sorted(tree.nodes, key=len, reverse=True):  # children before their parents
        node = tree.nodes[path]
        value = np.full(len(ACTIONS), np.nan)
        if node.quality is not None and "FINISH" in node.valid:
            value[INDEX["FINISH"]] = node.quality
        for action in node.valid:
            child = tree.child(node, action)
            if child is not None:
                value[INDEX[action]] = returns[child.path] - cost
        values_at[path] = value
        continued = value[INDEX[continuation(tree, node)]]
        # If the continuation leads to an unknown state, fall back on finishing here.
        returns[path] = float(value[INDEX["FINISH"]] if np.isnan(continued) else continued)
    return values_at


def examples(
    trees: Sequence[Tree], cost: float = COST, continuation: Continuation = default_continuation
) -> Examples:
    """Every state that offers a choice, with the value of each action.

    Each question has the same weight, but a person's label makes its state count more: the labelled action
    is worth as much as the best known one plus the cost of a step.
    """
    states, questions, datasets, rows, sufficient, weights = [], [], [], [], [], []
    for tree in trees:
        by_path = values(tree, cost, continuation)
        informative = [node for node in tree.nodes.values() if _is_informative(node, by_path[node.path])]
        for node in informative:
            value = by_path[node.path].copy()
            weight = 1.0 / len(informative)
            if node.label is not None and node.label in node.valid:
                value = _apply_label(node, value, cost)
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


def _is_informative(node: Node, value: Floats) -> bool:
    """A state is informative if it has a label or the value of any action is known."""
    return node.label is not None or not bool(np.all(np.isnan(value)))


def _apply_label(node: Node, value: Floats, cost: float) -> Floats:
    best = np.nanmax(value) if not np.all(np.isnan(value)) else 0.0
    adjusted = np.where(np.isnan(value), best, value)
    adjusted[[INDEX[action] for action in ACTIONS if action not in node.valid]] = np.nan
    assert node.label is not None
    adjusted[INDEX[node.label]] = best + cost
    return np.asarray(adjusted, dtype=np.float64)


def following(decisions: Mapping[tuple[str, str], Action]) -> Continuation:
    """The continuation that takes ``decisions`` by (question, path), and the default action elsewhere."""

    def decide(tree: Tree, node: Node) -> Action:
        return decisions.get((tree.question, node.path), default_action(node.valid))

    return decide
