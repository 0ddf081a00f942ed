"""Walking: what becomes of a question if a policy decides, read off the question's tree.

On a tree that holds every path the result is exact for any policy. On a real run, which is one path, it is
exact for those that stop on it (prefix replay: finishing earlier needs nothing that was not observed), and
not known for those that leave it. What is not known is NaN, and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from agent.state import Action
from policy.decisions.returns import COST
from policy.decisions.trees import Floats, Node, Seen, Tree
from policy.serving.scorers import Rule, Scorer, Scores

Decide: TypeAlias = Callable[[Node], Action | None]
"""A policy: what to do in a state; None where that is not known (a judge that was not asked)."""


_SAME = 1e-9  # utilities closer than this are equal


@dataclass(frozen=True, slots=True)
class Walk:
    """What became of one question. A *stop* is a state where FINISH is valid and its quality known.

    Attributes:
        question: Its id.
        dataset: Its set.
        path: First letters of the actions taken before finishing, or before the tree had no more to tell.
        steps: Research steps taken; NaN if the walk left the tree.
        quality: Of finishing there; NaN if it left the tree or nobody measured it.
        detail: Further measures of finishing there, by name.
        sufficient: `sufficient` of the state it finished in; NaN where not known.
        voluntary: True if something else than FINISH was valid where it finished.
        premature: 1 if a stop further down from where it finished has more utility (quality less
            ``cost`` times steps), else 0; NaN where the quality is not known. On a tree that does not hold
            every path it is a lower bound.
        excess: Steps beyond the earliest stop on the walk's own path that has the most utility of all
            stops on that path: 0 if it finished there. NaN where the quality is not known.
    """

    question: str
    dataset: str
    path: str
    steps: float
    quality: float
    detail: Mapping[str, float] = field(default_factory=dict)
    sufficient: float = math.nan
    voluntary: bool = False
    premature: float = math.nan
    excess: float = math.nan

    @property
    def known(self) -> bool:
        """True if the walk ended at a stop."""
        return not math.isnan(self.quality)


def sufficient(node: Node) -> float:
    """1 if finishing here is good enough, that is, all the evidence is held; the quality where only that
    is known; NaN where nothing is. The same as `policy.decisions.returns.Examples.sufficient`.
    """
    known = node.detail.get("complete", node.quality)
    return math.nan if known is None else float(known)


def is_stop(node: Node) -> bool:
    """True if FINISH is valid here and its quality known."""
    return "FINISH" in node.valid and node.quality is not None


def last_state(tree: Tree, decide: Decide) -> tuple[Node, bool]:
    """The state that ``decide`` finishes in, and True; or the last one known on its way, and False.

    Raises:
        ValueError: it chose an action that is not valid.
    """
    node = tree.root
    while True:
        action = decide(node)
        if action is None:
            return node, False
        if action not in node.valid:
            raise ValueError(f"{action} is not valid at {node.path!r} of {tree.question}: {node.valid}")
        if action == "FINISH":
            return node, True
        following = tree.child(node, action)
        if following is None:
            return node, False
        node = following


def walk(tree: Tree, decide: Decide, cost: float = COST) -> Walk:
    """What becomes of the question if ``decide`` decides; ``cost`` is what a step costs in quality.

    Raises:
        ValueError: it chose an action that is not valid.
    """
    node, finished = last_state(tree, decide)
    if not finished:
        return Walk(tree.question, tree.dataset, node.path, math.nan, math.nan)
    steps, voluntary = float(node.steps), len(node.valid) > 1
    if node.quality is None:
        return Walk(tree.question, tree.dataset, node.path, steps, math.nan, voluntary=voluntary)
    return Walk(
        tree.question,
        tree.dataset,
        node.path,
        steps,
        node.quality,
        node.detail,
        sufficient(node),
        voluntary,
        _premature(tree, node, cost),
        _excess(tree, node, cost),
    )


def _utility(node: Node, cost: float) -> float:
    return math.nan if node.quality is None else node.quality - cost * node.steps


def _premature(tree: Tree, end: Node, cost: float) -> float:
    here = _utility(end, cost)
    return float(
        any(
            len(path) > len(end.path)
            and path.startswith(end.path)
            and is_stop(node)
            and _utility(node, cost) > here + _SAME
            for path, node in tree.nodes.items()
        )
    )


def _excess(tree: Tree, end: Node, cost: float) -> float:
    passed = [tree.nodes[end.path[:length]] for length in range(len(end.path) + 1)]
    best = end
    for node in reversed(passed):
        if is_stop(node) and _utility(node, cost) >= _utility(best, cost) - _SAME:
            best = node
    return float(end.steps - best.steps)


@dataclass(frozen=True, slots=True)
class Scored:
    """Trees with what a scorer makes of each of their states.

    Attributes:
        trees: The trees.
        rows: Of each tree, the row in ``scores`` of each path.
        scores: Of all states of all trees.
    """

    trees: Sequence[Tree]
    rows: Sequence[Mapping[str, int]]
    scores: Scores

    def deciders(self, rule: Rule) -> list[Decide]:
        """What the rule, with its frozen margin, makes of the scores, one policy for each tree."""
        return [self._decider(at, rule) for at in self.rows]

    def _decider(self, at: Mapping[str, int], rule: Rule) -> Decide:
        return lambda node: rule.action(node.valid, self.scores.advantages[at[node.path]])


def go_on(node: Node) -> Action:
    """CONTINUE if valid, else REVISE if valid, else FINISH: what a policy does that has no wish to stop."""
    return next(action for action in ("CONTINUE", "REVISE", "FINISH") if action in node.valid)


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
    """What became of n questions under one policy.

    Attributes:
        name: Of the policy.
        walks: One per question, in the order of the trees.
        columns: Arrays of shape (n,) by name; NaN where a question has none. ``quality``, ``steps``,
            ``sufficient``, ``premature``, ``excess``, ``oversearched`` (1 if there was any excess),
            ``first_stop`` (`sufficient`, of voluntary stops only: its mean is the first-stop precision)
            and every measure that a walk's detail has.
    """

    name: str
    walks: Sequence[Walk]
    columns: Mapping[str, Floats]

    @property
    def quality(self) -> Floats:
        """Shape (n,); NaN where not known."""
        return self.columns["quality"]

    @property
    def steps(self) -> Floats:
        """Shape (n,); NaN where the quality is not known, so that all means are over the same questions."""
        return self.columns["steps"]

    @property
    def unknown(self) -> int:
        """Questions whose outcome is not known."""
        return int(np.isnan(self.quality).sum())

    def column(self, name: str) -> Floats:
        """A measure, shape (n,); all NaN where no question has it."""
        found = self.columns.get(name)
        return np.full(len(self.walks), np.nan) if found is None else found

    def utility(self, cost: float) -> Floats:
        """Quality less ``cost`` times steps, shape (n,)."""
        return self.quality - cost * self.steps


def outcomes(name: str, walks: Sequence[Walk]) -> Outcomes:
    """The walks as columns."""

    def column(values: Sequence[float]) -> Floats:
        return np.array(values, dtype=np.float64)

    excess = column([w.excess for w in walks])
    known = np.array([w.known for w in walks], dtype=bool)
    columns: dict[str, Floats] = {
        "quality": column([w.quality for w in walks]),
        "steps": np.where(known, column([w.steps for w in walks]), np.nan),
        "sufficient": column([w.sufficient for w in walks]),
        "premature": column([w.premature for w in walks]),
        "excess": excess,
        "oversearched": np.where(np.isnan(excess), np.nan, (excess > 0).astype(np.float64)),
        "first_stop": column([w.sufficient if w.voluntary else math.nan for w in walks]),
    }
    for measure in sorted({key for w in walks for key in w.detail} - set(columns)):
        columns[measure] = column([w.detail.get(measure, math.nan) for w in walks])
    return Outcomes(name, list(walks), columns)


def follow(name: str, trees: Sequence[Tree], decide: Decide, cost: float = COST) -> Outcomes:
    """Walk all trees with one policy."""
    return outcomes(name, [walk(tree, decide, cost) for tree in trees])


def follow_each(
    name: str, trees: Sequence[Tree], deciders: Sequence[Decide], cost: float = COST
) -> Outcomes:
    """Walk each tree with a policy of its own, as `Scored.deciders` gives them."""
    return outcomes(name, [walk(tree, decide, cost) for tree, decide in zip(trees, deciders, strict=True)])
