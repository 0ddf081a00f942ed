"""Trees for tests: small, random, and as valid as collected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agent.state import Action
from policy.decisions import INDEX, Floats, Node, Seen, Tree, default_action
from policy.judging import Decide


def node(
    path: str,
    valid: tuple[Action, ...],
    quality: float | None,
    features: Mapping[str, float] | None = None,
) -> Node:
    return Node(path, Seen(path, features or {}, valid), quality, "evidence")


def widened(*rows: Sequence[float] | Floats) -> Floats:
    """Rows of values with one for each action; those that are not given are not known."""
    return np.array([[*row, *[np.nan] * (len(INDEX) - len(row))] for row in rows], dtype=np.float64)


def random_tree(
    rng: np.random.Generator,
    question: str = "q",
    dataset: str = "toy",
    *,
    steps: int = 4,
    revisions: int = 2,
    lost: float = 0.0,
) -> Tree:
    """A question with a random plan, random evidence and random features.

    Quality never falls along a path (evidence is kept), is 1 where all of three pieces are held, and else
    half of the share that is; the first state may hold nothing, and then cannot be finished in.
    ``lost``: probability that a branch or a quality is missing, as in real runs.
    """
    plan = int(rng.integers(1, steps + 1))
    nodes: dict[str, Node] = {}

    def grow(path: str, pieces: int, before: int) -> None:
        taken = 1 + len(path)
        still_open = max(0, plan - 1 - path.count("C"))
        new = int(rng.random() < 0.5)
        held = min(3, pieces + new)
        valid: list[Action] = []
        if taken < steps:
            if still_open:
                valid.append("CONTINUE")
            if path.count("R") < revisions and held:
                valid.append("REVISE")
        if held or not still_open or not valid:
            valid.append("FINISH")
        quality = 1.0 if held == 3 else held / 6
        seen = {
            "step": float(taken),
            "open": float(still_open),
            "held": float(held),
            "barren": 0.0 if new else float(before + 1),
            "noise": float(rng.normal()),
        }
        known = None if rng.random() < lost else quality
        nodes[path] = node(path, tuple(valid), known, seen)
        for action in valid:
            if action != "FINISH" and rng.random() >= lost:
                grow(path + action[0], held, 0 if new else before + 1)

    grow("", int(rng.random() < 0.7), 0)
    return Tree(question, dataset, nodes, f"What is {question}?")


def random_trees(
    seed: int, number: int, dataset: str = "toy", *, steps: int = 4, revisions: int = 2
) -> list[Tree]:
    """Several, each with a question id of its own."""
    rng = np.random.default_rng(seed)
    return [
        random_tree(rng, f"{dataset}-{i}", dataset, steps=steps, revisions=revisions) for i in range(number)
    ]


def stop(node: Node) -> Action:
    """FINISH; where that is not valid yet, what the default policy does."""
    return "FINISH" if "FINISH" in node.valid else default_action(node.valid)


def schedule(letters: str) -> Decide:
    """Follow ``letters`` (C, R) where they are valid, else the other one; then finish."""
    actions: dict[str, Action] = {"C": "CONTINUE", "R": "REVISE"}

    def decide(node: Node) -> Action:
        if len(node.path) >= len(letters):
            return stop(node)
        wanted = letters[len(node.path)]
        for letter in (wanted, *(actions.keys() - wanted)):
            if actions[letter] in node.valid:
                return actions[letter]
        return "FINISH"

    return decide
