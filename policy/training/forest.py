"""The forest: random forests on the features, stored as plain arrays. Fitted in seconds: the baseline.

One forest for the advantage of each action but CONTINUE, the default wherever it is valid, and one for the
probability that the evidence is complete. A further try of a step without a forest is never chosen. scikit-
learn fits them; it is not needed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agent.state import TRIES, Action
from policy.decisions import (
    COST,
    INDEX,
    Examples,
    Floats,
    Seen,
    Tree,
    default_columns,
    examples,
    fold,
    valid_columns,
)
from policy.serving.scorers import Rule, Scores

FILE: Final = "forest.safetensors"
TREES: Final = 200
_LEAF = 6  # minimum of states in a leaf
_FEATURES = 0.4  # share of the features considered at each split
FOLDS: Final = 5
ROUNDS: Final = 2
"""Improvements of the continuation. A third changed the value of the policy by less than its interval."""
_LEARNED: tuple[Action, ...] = ("REVISE", "FINISH")


@dataclass(frozen=True, slots=True)
class Trees:
    """Many regression trees in flat arrays, one after the other; but for the roots, one per node."""

    roots: npt.NDArray[np.int32]  # index of the root of each tree
    feature: npt.NDArray[np.int16]  # column that a node tests; -1 for a leaf
    threshold: npt.NDArray[np.float32]  # a state goes left if its value is at most this
    left: npt.NDArray[np.int32]  # index of the left child
    right: npt.NDArray[np.int32]
    value: npt.NDArray[np.float32]  # the prediction of a leaf

    def predict(self, columns: npt.NDArray[np.float32]) -> Floats:
        """The mean over the trees, shape (n,), for ``columns`` of shape (n, features)."""
        nodes = np.broadcast_to(self.roots, (len(columns), len(self.roots))).copy()
        rows = np.arange(len(columns))[:, None]
        while True:
            feature = self.feature[nodes]
            inner = feature >= 0
            if not inner.any():
                return np.asarray(self.value[nodes].mean(axis=1), dtype=np.float64)
            is_left = columns[rows, np.maximum(feature, 0)] <= self.threshold[nodes]
            nodes = np.where(inner, np.where(is_left, self.left[nodes], self.right[nodes]), nodes)

    def plus(self, other: Trees) -> Trees:
        """Trees that predict the sum of what both predict."""
        count, others = len(self.roots), len(other.roots)
        scale, other_scale = (count + others) / count, (count + others) / others
        moved = len(self.value)

        def joined(mine: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([mine, np.where(theirs >= 0, theirs + moved, -1).astype(mine.dtype)])

        return Trees(
            joined(self.roots, other.roots),
            np.concatenate([self.feature, other.feature]),
            np.concatenate([self.threshold, other.threshold]),
            joined(self.left, other.left),
            joined(self.right, other.right),
            np.concatenate([self.value * scale, other.value * other_scale]).astype(np.float32),
        )

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """The arrays by name, for storage."""
        return {f"{name}.{field}": getattr(self, field) for field in Trees.__slots__}

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[Any]], name: str) -> Trees:
        """The trees that `arrays` stored. Raises `KeyError` if an array is missing."""
        return cls(*(arrays[f"{name}.{field}"] for field in Trees.__slots__))


class Forest:
    """A `policy.serving.scorers.Scorer` on the features ``names`` alone.

    It has trees for REVISE and FINISH, for the tries that it was trained on, and for the evidence being
    complete.
    """

    def __init__(self, names: Sequence[str], advantages: Mapping[Action, Trees], sufficient: Trees) -> None:
        self.names = tuple(names)
        self.advantages = dict(advantages)
        self.sufficient = sufficient

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``; well under a millisecond for one."""
        columns = table(states, self.names)
        advantages = np.full((len(states), len(INDEX)), -np.inf)
        for action, trees in self.advantages.items():
            advantages[:, INDEX[action]] = trees.predict(columns)
        advantages[~valid_columns(states)] = -np.inf
        advantages[np.arange(len(states)), default_columns(states)] = 0.0
        return Scores(advantages, self.sufficient.predict(columns))

    def save(self, folder: Path) -> None:
        """Write `FILE` into ``folder``."""
        from safetensors.numpy import save_file

        arrays = self.sufficient.arrays("sufficient")
        for action, trees in self.advantages.items():
            arrays.update(trees.arrays(action.lower()))
        save_file(arrays, folder / FILE)

    @classmethod
    def read(cls, folder: Path, names: Sequence[str]) -> Forest:
        """Read what `save` wrote, for a forest on the features ``names``. Raises as `Trees.of`."""
        from safetensors.numpy import load_file

        arrays = load_file(folder / FILE)
        tries = (action for action in TRIES if f"{action.lower()}.roots" in arrays)
        advantages = {action: Trees.of(arrays, action.lower()) for action in (*_LEARNED, *tries)}
        return cls(names, advantages, Trees.of(arrays, "sufficient"))


def fit(learned_from: Examples, *, seed: int, onto: Forest | None = None) -> Forest:
    """Fit the three forests; those that are to correct ``onto`` learn what it gets wrong, and are added."""
    names = onto.names if onto else tuple(learned_from.states[0].features)
    columns = table(learned_from.states, names)

    def fitted(target: Floats, before: Trees | None) -> Trees:
        known = ~np.isnan(target)
        error = target - before.predict(columns) if before else target
        trees = _fit(columns[known], error[known], learned_from.weights[known], seed)
        return before.plus(trees) if before else trees

    gains = learned_from.advantages.copy()
    gains[np.arange(len(gains)), default_columns(learned_from.states)] = np.nan  # 0 by definition
    before: Mapping[Action, Trees | None] = onto.advantages if onto else dict.fromkeys(_LEARNED)
    advantages = {
        action: fitted(gains[:, INDEX[action]], before.get(action))
        for action in dict.fromkeys((*before, *learned_from.tries))
    }
    return Forest(names, advantages, fitted(learned_from.sufficient, onto.sufficient if onto else None))


def improved(
    trees: Sequence[Tree],
    cost: float = COST,
    *,
    seed: int = 0,
    on_progress: Callable[[int, int], None] = lambda _fitted, _total: None,
) -> Examples:
    """Examples whose returns follow a learned continuation, not hindsight.

    The forest, being quick, is the policy that improves. On each question it is fitted without that
    question, so that its continuation was not learned from the answer. It is learned anew `ROUNDS` times;
    ``on_progress`` gets the number of fitted forests and the total.
    """
    continuation: dict[tuple[str, str], Action] = {}
    for round_number in range(ROUNDS):
        decisions: dict[tuple[str, str], Action] = {}
        for part in range(FOLDS):
            inside = [tree for tree in trees if fold(tree.question, FOLDS) != part]
            outside = [tree for tree in trees if fold(tree.question, FOLDS) == part]
            if inside and outside:
                scorer = fit(examples(inside, cost, continuation), seed=seed)
                decisions.update(_decisions(outside, scorer))
            on_progress(round_number * FOLDS + part + 1, ROUNDS * FOLDS)
        continuation = decisions
    return examples(trees, cost, continuation)


def _decisions(trees: Sequence[Tree], scorer: Forest) -> dict[tuple[str, str], Action]:
    nodes = {(tree.question, path): node for tree in trees for path, node in tree.nodes.items()}
    advantages = scorer.score([node.seen for node in nodes.values()]).advantages
    rule = Rule(margin=0.0, temperature=1.0)
    return {
        key: rule.action(node.valid, row)
        for (key, node), row in zip(nodes.items(), advantages, strict=True)
    }


def table(states: Sequence[Seen], names: Sequence[str]) -> npt.NDArray[np.float32]:
    """The features as columns, shape (n, features), in the order of ``names``."""
    rows = [[state.features[name] for name in names] for state in states]
    return np.array(rows, dtype=np.float32).reshape(len(states), len(names))


def _fit(columns: npt.NDArray[np.float32], target: Floats, weights: Floats, seed: int) -> Trees:
    """Fit one forest; without examples it predicts 0 everywhere."""
    if not len(target):
        columns, target, weights = np.zeros((1, columns.shape[1]), np.float32), np.zeros(1), np.ones(1)
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        n_estimators=TREES,
        min_samples_leaf=min(_LEAF, max(1, len(target) // 10)),
        max_features=_FEATURES,
        random_state=seed,
        n_jobs=1,  # deterministic tree order, and a training shares its machine
    ).fit(columns, target, sample_weight=weights)
    return _flattened([estimator.tree_ for estimator in forest.estimators_])


def _flattened(trees: Sequence[Any]) -> Trees:
    """scikit-learn's trees one after the other; the children of a leaf are -1."""
    roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])

    def joined(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def children(name: str) -> npt.NDArray[np.int32]:
        offsets = np.repeat(roots, [tree.node_count for tree in trees])
        return np.where(joined(name) >= 0, joined(name) + offsets, -1).astype(np.int32)

    left = children("children_left")
    inner = left >= 0
    # scikit-learn compares float32 features with float64 thresholds: rounding down keeps every comparison.
    threshold = np.where(inner, joined("threshold"), 0.0)
    rounded = threshold.astype(np.float32)
    rounded = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    return Trees(
        roots.astype(np.int32),
        np.where(inner, joined("feature"), -1).astype(np.int16),
        rounded.astype(np.float32),
        left,
        children("children_right"),
        joined("value").reshape(-1).astype(np.float32),
    )
