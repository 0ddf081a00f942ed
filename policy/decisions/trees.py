"""Decision trees of questions: the states, where each action leads, and what finishing there is worth.

A user's run is a tree with one path. A collected question has every path that its budget allows, so that
any policy can be evaluated on it exactly, by walking. Trees are split by question.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from agent.state import ACTIONS, Action

Floats: TypeAlias = npt.NDArray[np.float64]
INDEX: Mapping[Action, int] = {action: i for i, action in enumerate(ACTIONS)}
"""Column of each action in every array of values: CONTINUE, REVISE, FINISH."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A state as a decider sees it.

    Attributes:
        text: `agent.decisions.features.state_text` of it.
        features: `agent.decisions.features.features` of it.
        valid: The valid actions; never empty.
    """

    text: str
    features: Mapping[str, float]
    valid: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A state of a tree.

    Attributes:
        path: First letters of the actions that lead to it; "" for the first decision, after one step.
        quality: Of finishing here, 0 to 1; None if it was not measured.
        source: Source of the quality: answer, evidence, rating, override, verifier; "" if there is none.
        detail: Further measures of finishing here, by name (``complete``, ``recall``, ``f1``, ``em``).
        label: The action a person chose for this state, if any.
    """

    path: str
    seen: Seen
    quality: float | None
    source: str = ""
    detail: Mapping[str, float] = field(default_factory=dict)
    label: Action | None = None

    @property
    def steps(self) -> int:
        """Research steps taken before this decision."""
        return 1 + len(self.path)

    @property
    def sufficient(self) -> float:
        """1 if all the evidence has been found; the quality if only that is known; NaN if neither is."""
        known = self.detail.get("complete", self.quality)
        return math.nan if known is None else float(known)

    @property
    def valid(self) -> tuple[Action, ...]:
        """The valid actions."""
        return self.seen.valid


@dataclass(frozen=True, slots=True)
class Tree:
    """A question with its states.

    Attributes:
        question: Its id, which separates training from held-out questions.
        dataset: The set it is from.
        nodes: By path; "" is always present.
        text: The question in words.
        run: Id of the run it was read from; "" if there is none.
    """

    question: str
    dataset: str
    nodes: Mapping[str, Node]
    text: str = ""
    run: str = ""

    @property
    def root(self) -> Node:
        """The first decision."""
        return self.nodes[""]

    def child(self, node: Node, action: Action) -> Node | None:
        """The state that ``action`` leads to; None for FINISH, and for unexplored actions."""
        return None if action == "FINISH" else self.nodes.get(node.path + action[0])


def default_action(valid: Sequence[Action]) -> Action:
    """The default policy: complete the plan, then finish."""
    for action in ("CONTINUE", "FINISH"):
        if action in valid:
            return action
    return valid[0]


def valid_columns(states: Sequence[Seen]) -> npt.NDArray[np.bool_]:
    """Which actions are valid in n states, shape (n, 3), columns as `INDEX`."""
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
