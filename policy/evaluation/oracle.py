"""Clairvoyant policies: how much there is to gain at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from policy.evaluation.walking import Decide, Outcomes, follow_each, is_stop
from policy.returns import COST
from policy.trees import Node, Tree

COSTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0)
"""The costs whose oracles span the clairvoyant frontier: from "whatever it takes" to "at once"."""


def best_stop(tree: Tree, cost: float = COST) -> Node | None:
    """The stop with the most quality less ``cost`` times steps; of equals the one with fewest steps, then
    the first path. None where no quality is known.

    It bounds every policy on a tree that holds every path, and on others every policy that is known there.
    """

    def rank(node: Node) -> tuple[float, int, str]:
        return round(cost * node.steps - float(node.quality or 0.0), 9), node.steps, node.path

    return min(_stops(tree), key=rank, default=None)


def complete_stop(tree: Tree) -> Node | None:
    """The stop with fewest steps that holds all the evidence; if none does, the first stop there is: one
    who knows that it is hopeless does not search. None where no quality is known.
    """
    stops = sorted(_stops(tree), key=lambda n: (n.steps, n.path))
    whole = [node for node in stops if node.detail.get("complete", math.floor(node.quality or 0.0)) >= 1]
    return next(iter(whole or stops), None)


def oracle(trees: Sequence[Tree], cost: float = COST) -> Outcomes:
    """Finishes each question at its `best_stop`."""
    deciders = [_towards(best_stop(tree, cost)) for tree in trees]
    return follow_each(f"oracle at cost {cost:g}", trees, deciders, cost)


def complete_oracle(trees: Sequence[Tree], cost: float = COST) -> Outcomes:
    """Finishes each question at its `complete_stop`; ``cost`` is only that of the walks' diagnosis."""
    deciders = [_towards(complete_stop(tree)) for tree in trees]
    return follow_each("oracle of completeness", trees, deciders, cost)


def frontier_of_oracles(trees: Sequence[Tree]) -> list[Outcomes]:
    """The oracles at `COSTS`: their mixtures are what a clairvoyant can do with a mean number of steps."""
    return [oracle(trees, cost) for cost in COSTS]


def _stops(tree: Tree) -> Iterator[Node]:
    return (node for node in tree.nodes.values() if is_stop(node))


def _towards(end: Node | None) -> Decide:
    """Goes to ``end`` and finishes there; where there is none, nothing is known."""
    if end is None:
        return lambda _node: None
    path = end.path
    return lambda node: (
        "FINISH" if node.path == path else "CONTINUE" if path[len(node.path)] == "C" else "REVISE"
    )
