"""Examples to learn from: each state with the return of each action, by backward induction.

FINISH is worth the quality of finishing; CONTINUE and REVISE are worth the return of the state they lead
to, less the cost of a step. That return follows a continuation policy, not hindsight: a policy that
believed in the best path would search too long. The continuation is the default schedule at first, then the
learned policy on questions it was not trained on (fitted policy iteration: Ernst, Geurts and Wehenkel,
JMLR 2005).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agent.state import ACTIONS, Action
from policy.decisions.trees import INDEX, Floats, Node, Seen, Tree, default_action, default_columns


@dataclass(frozen=True, slots=True)
class Examples:
    """n states with their targets.

    Attributes:
        questions: Id of each state's question, for splits.
        datasets: Name of each state's data set.
        values: Shape (n, 3), columns as `trees.INDEX`: return of each action, the quality reached less the
            cost of the steps from here on; NaN where the action is not valid or its return is unknown.
        sufficient: Shape (n,): as `policy.decisions.trees.Node.sufficient`.
        weights: Shape (n,): weight of each state.
    """

    states: Sequence[Seen]
    questions: Sequence[str]
    datasets: Sequence[str]
    values: Floats
    sufficient: Floats
    weights: Floats

    def __len__(self) -> int:
        return len(self.states)

    @property
    def advantages(self) -> Floats:
        """Shape (n, 3): ``values`` less that of the default action; NaN likewise."""
        base = self.values[np.arange(len(self)), default_columns(self.states)]
        return self.values - base[:, None]

    def take(self, at: Sequence[int]) -> Examples:
        """The examples at the indices ``at``."""
        rows = np.asarray(at, dtype=np.int64)
        return Examples(
            [self.states[i] for i in at],
            [self.questions[i] for i in at],
            [self.datasets[i] for i in at],
            self.values[rows],
            self.sufficient[rows],
            self.weights[rows],
        )


COST = 0.05
"""Cost of a research step, in units of quality."""
_LABEL_WEIGHT = 4.0  # a person's label counts as much as a few measured states


def values(tree: Tree, cost: float, continuation: Mapping[tuple[str, str], Action]) -> dict[str, Floats]:
    """Map each path to the value of each action there, shape (3,), NaN where not valid or not known.

    Args:
        continuation: The action taken in a state when a return is computed, by question and path; the
            default action where none is given.
    """
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
        continued = value[INDEX[continuation.get((tree.question, path), default_action(node.valid))]]
        # If the continuation leads to an unknown state, fall back on finishing here.
        returns[path] = float(value[INDEX["FINISH"]] if np.isnan(continued) else continued)
    return values_at


def examples(
    trees: Sequence[Tree], cost: float = COST, continuation: Mapping[tuple[str, str], Action] | None = None
) -> Examples:
    """Every state that has a label or an action of known value, with the value of each action.

    Each question has the same weight, but a person's label makes its state count more: the labelled action
    is worth as much as the best known one plus the cost of a step. ``continuation`` is as in `values`.
    """
    states, questions, datasets, rows, sufficient, weights = [], [], [], [], [], []
    for tree in trees:
        by_path = values(tree, cost, continuation or {})
        informative = [
            node
            for node in tree.nodes.values()
            if node.label is not None or not np.all(np.isnan(by_path[node.path]))
        ]
        for node in informative:
            value = by_path[node.path]
            weight = 1.0 / len(informative)
            if node.label is not None and node.label in node.valid:
                value = _apply_label(node, node.label, value, cost)
                weight *= _LABEL_WEIGHT
            states.append(node.seen)
            questions.append(tree.question)
            datasets.append(tree.dataset)
            rows.append(value)
            sufficient.append(node.sufficient)
            weights.append(weight)
    return Examples(
        states,
        questions,
        datasets,
        np.array(rows, dtype=np.float64).reshape(-1, len(ACTIONS)),
        np.array(sufficient, dtype=np.float64),
        np.array(weights, dtype=np.float64),
    )


def _apply_label(node: Node, label: Action, value: Floats, cost: float) -> Floats:
    best = 0.0 if np.all(np.isnan(value)) else float(np.nanmax(value))
    adjusted = np.where(np.isnan(value), best, value)
    adjusted[[INDEX[action] for action in ACTIONS if action not in node.valid]] = np.nan
    adjusted[INDEX[label]] = best + cost
    return np.asarray(adjusted, dtype=np.float64)
