"""Decisions as data: read from stores as trees, and what each action was worth.

A tree is a question's states, where each action leads, and what finishing there is worth. A user's run is a
tree with one path. A collected question has every path that its budget allows, so that any policy can be
evaluated on it exactly, by walking. Trees are split by question.

`examples` computes returns by backward induction. FINISH is worth the quality of finishing; every other
action is worth the return of the state it leads to, less the cost of a step: a search and a call of the
language model have one price. That return follows a continuation policy, not hindsight: a policy that
believed in the best path would search too long. The continuation is the default schedule at first, then the
learned policy on questions it was not trained on (fitted policy iteration: Ernst, Geurts and Wehenkel, JMLR
2005).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from agent.decisions.decider import OLDEST_VERSION, STATE_VERSION, PolicyState
from agent.decisions.features import features, state_text
from agent.state import ACTIONS, PLAN_ACTIONS, TRIES, Action
from traces.decisions import Counts
from traces.errors import DeepthinkError
from traces.parquet import take_in
from traces.paths import existing_file
from traces.store import Store

Floats: TypeAlias = npt.NDArray[np.float64]
INDEX: Mapping[Action, int] = {action: i for i, action in enumerate(ACTIONS)}
"""Column of each action in every array of values, in the order of `ACTIONS`."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A state as a decider sees it."""

    text: str  # `agent.decisions.features.state_text` of it
    features: Mapping[str, float]  # `agent.decisions.features.features` of it
    valid: tuple[Action, ...]  # the valid actions; never empty


@dataclass(frozen=True, slots=True)
class Node:
    """A state of a tree."""

    path: str  # first letters of the actions that lead to it; "" for the first decision, after one step
    seen: Seen
    quality: float | None  # of finishing here, 0 to 1; None if it was not measured
    source: str = ""
    """Source of the quality: answer, evidence, rating, override, verifier; "" if there is none."""
    label: Action | None = None  # the action a person chose for this state, if any

    @property
    def steps(self) -> int:
        """Research steps taken before this decision."""
        return 1 + len(self.path)

    @property
    def sufficient(self) -> float:
        """The quality of finishing here, NaN if it is not known: what a sufficiency is fitted to."""
        return math.nan if self.quality is None else self.quality

    @property
    def valid(self) -> tuple[Action, ...]:
        """The valid actions."""
        return self.seen.valid


@dataclass(frozen=True, slots=True)
class Tree:
    """A question with its states."""

    question: str  # its id, which separates training from held-out questions
    dataset: str  # the set it is from
    nodes: Mapping[str, Node]  # by path; "", the first decision, is always present
    text: str = ""  # the question in words
    run: str = ""  # id of the run it was read from; "" if there is none

    def child(self, node: Node, action: Action) -> Node | None:
        """The state that ``action`` leads to; None for FINISH, and for unexplored actions."""
        return None if action == "FINISH" else self.nodes.get(node.path + action[0])


def default_action(valid: Sequence[Action]) -> Action:
    """The default policy: complete the plan, then finish."""
    return next((action for action in ("CONTINUE", "FINISH") if action in valid), valid[0])


def valid_columns(states: Sequence[Seen]) -> npt.NDArray[np.bool_]:
    """Which actions are valid in n states, shape (n, actions), columns as `INDEX`."""
    rows = [[action in state.valid for action in INDEX] for state in states]
    return np.array(rows, dtype=np.bool_).reshape(len(states), len(INDEX))


def default_columns(states: Sequence[Seen]) -> npt.NDArray[np.int64]:
    """The column of each state's default action, shape (n,)."""
    return np.array([INDEX[default_action(state.valid)] for state in states], dtype=np.int64)


def fold(question: str, folds: int) -> int:
    """The fold of a question, from its id alone: the same on every machine and in every data set."""
    return int.from_bytes(hashlib.sha256(question.encode()).digest()[:8], "big") % folds


HELD_OUT: Final = 5
"""One question in this many is held out."""


def split(trees: Sequence[Tree]) -> tuple[list[Tree], list[Tree]]:
    """Training trees, and one in `HELD_OUT` for validation: calibration, temperature, margin."""
    validation = [tree for tree in trees if fold(tree.question, HELD_OUT) == 0]
    return [tree for tree in trees if fold(tree.question, HELD_OUT) != 0], validation


# --- reading -------------------------------------------------------------------------------------


def usable(counts: Counts) -> int:
    """Decisions with a state that can be read."""
    return sum(count for version, count in counts.versions.items() if version >= OLDEST_VERSION)


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading."""

    trees: list[Tree]  # one for each run that can be learned from, in the order they were stored
    other_versions: int = 0  # decisions skipped because their state is too old to be read
    unmeasured: int = 0  # runs skipped because nobody measured, rated or labelled them
    duplicates: int = 0  # runs skipped because an earlier store has them: a store and its export do


_SPLIT = re.compile(r"[_-](?:train|dev|validation|test)$")
"""The split in a file name, which is not part of the data set: the same question is the same in both."""


def load_trees(*stores: Store) -> Read:
    """Every run's decisions as a tree, except runs without a first decision or without any measure.

    The user's own questions form the data set ``own``; their id is the text of the question, so that a
    question asked twice is never on both sides of a split.
    """
    # Questions of two files with the same name may share an id; their text differs.
    trees: dict[tuple[str, str], Tree] = {}
    other_versions = unmeasured = duplicates = 0
    for store in stores:
        with store.connect():
            rows = store.rows(_DECISIONS, [OLDEST_VERSION])
            older = "SELECT count(*) FROM decisions WHERE NOT shadow AND state_version < ?"
            [(others,)] = store.rows(older, [OLDEST_VERSION])
        other_versions += others
        for run, group in groupby(rows, itemgetter(0)):
            run_rows = list(group)
            _, question, dataset, question_id, *_ = run_rows[0]
            nodes = {node.path: node for node in (_node(row[4:]) for row in run_rows)}
            if "" not in nodes or all(n.quality is None and n.label is None for n in nodes.values()):
                unmeasured += 1
                continue
            dataset = _SPLIT.sub("", dataset)
            name = f"{dataset}/{question_id}" if dataset else " ".join(question.split()).casefold()
            duplicates += (run, question) in trees
            trees.setdefault((run, question), Tree(name, dataset or "own", nodes, question, run))
    return Read(list(trees.values()), other_versions, unmeasured, duplicates)


_DECISIONS = """
    SELECT d.run_id, r.question, coalesce(g.dataset, ''), coalesce(g.question_id, ''),
        d.path, d.text, d.features, d.valid_actions, f.quality, coalesce(f.source, ''), l.action,
        d.state_version, d.state
    FROM decisions d
    JOIN runs r ON r.id = d.run_id
    LEFT JOIN gold g ON g.run_id = d.run_id
    LEFT JOIN finishes f ON f.run_id = d.run_id AND f.path = d.path
    LEFT JOIN labels l ON l.run_id = d.run_id AND l.seq = d.seq
    WHERE NOT d.shadow AND d.state_version >= ?
    ORDER BY r.started, d.run_id, d.seq
"""


def _node(row: tuple[Any, ...]) -> Node:
    """The node in the columns of `_DECISIONS` from the path on."""
    path, text, numbers, valid, quality, source, label, version, stored = row
    # A run that its budget ended still has all the choices of its last state on record.
    actions = tuple(cast(Action, action) for action in json.loads(valid) if action in ACTIONS)
    seen = Seen(text, json.loads(numbers), actions)
    if version != STATE_VERSION:  # encode it as it would be today
        state = PolicyState(**json.loads(stored))
        seen = Seen(state_text(state), features(state), actions)
    return Node(path, seen, quality, source, label)


class NoSuchSource(DeepthinkError, title="Nothing to read", kind="input"):
    """Raised when a named file does not exist."""


def open_source(source: Path, folder: Path) -> Store:
    """Open ``source`` as a store; exported traces are read into a new store in ``folder``.

    Raises `NoSuchSource` if the file does not exist or cannot be accessed, and `BadTraces` or `StoreError`
    if it is neither an export of traces nor a store.
    """
    path = existing_file(source)
    if path is None:
        raise NoSuchSource(
            f"There is no file {source}.",
            "Name a collected store (.duckdb) or exported traces (.parquet).",
        )
    if path.suffix == ".duckdb":
        return Store(path, named=True)
    folder.mkdir(parents=True, exist_ok=True)
    # Every process of `accelerate launch` reads its own copy.
    digest = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]
    store_path = folder / f"{digest}-{os.environ.get('RANK', '0')}.duckdb"
    store_path.unlink(missing_ok=True)
    store = Store(store_path)
    take_in(store, [path], newest=STATE_VERSION, oldest=OLDEST_VERSION)
    return store


# --- returns -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Examples:
    """n states with their targets."""

    states: Sequence[Seen]
    questions: Sequence[str]  # id of each state's question, for splits
    datasets: Sequence[str]  # name of each state's data set
    values: Floats
    """Shape (n, actions), columns as `INDEX`: return of each action, the quality reached less the cost of
    the steps from here on; NaN where the action is not valid or its return is unknown."""
    sufficient: Floats  # shape (n,): as `Node.sufficient`
    weights: Floats  # shape (n,): weight of each state

    def __len__(self) -> int:
        return len(self.states)

    @property
    def advantages(self) -> Floats:
        """The shape of ``values``: less that of the default action; NaN likewise."""
        base = self.values[np.arange(len(self)), default_columns(self.states)]
        return self.values - base[:, None]

    @property
    def tries(self) -> tuple[Action, ...]:
        """The further tries of a step that were taken in at least `ENOUGH` states."""
        known = np.isfinite(self.values).sum(axis=0)
        return tuple(action for action in TRIES if known[INDEX[action]] >= ENOUGH)

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
ENOUGH = 50
"""States in which a further try of a step must have been taken for a policy to learn what it is worth.

The quality of two states differs by about 0.35, so with fewer the error of even their mean, 0.35/√50, would
be more than the cost of a step.
"""
_LABEL_WEIGHT = 4.0  # a person's label counts as much as a few measured states


def values(tree: Tree, cost: float, continuation: Mapping[tuple[str, str], Action]) -> dict[str, Floats]:
    """Map each path to the value of each action there, shape (actions,), NaN where not valid or unknown.

    ``continuation`` is the action taken in a state when a return is computed, by question and path; it is
    the default action where none is given.
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
    trees: Sequence[Tree],
    cost: float = COST,
    continuation: Mapping[tuple[str, str], Action] | None = None,
    margin: float = 0.0,
) -> Examples:
    """Every state that has a label or an action of known value, with the value of each action.

    Each question has the same weight, but a person's label makes its state count more: the labelled action
    is worth as much as the best known one plus the cost of a step, or twice the ``margin`` if that is more:
    what a policy with this margin must learn to follow it. ``continuation`` is as in `values`.
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
                value = _apply_label(node, node.label, value, max(cost, 2 * margin))
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


def _apply_label(node: Node, label: Action, value: Floats, lead: float) -> Floats:
    """The values with what a person said: the label is better than the default action, or the default
    better than all others of the plan, by ``lead``. A label says nothing of a third action."""
    best = 0.0 if np.all(np.isnan(value)) else float(np.nanmax(value))
    default = default_action(node.valid)
    compared = [a for a in node.valid if a in PLAN_ACTIONS] if label == default else [default]
    adjusted = value.copy()
    for action in compared:
        if np.isnan(adjusted[INDEX[action]]):
            adjusted[INDEX[action]] = best
    adjusted[INDEX[label]] = best + lead
    return adjusted
