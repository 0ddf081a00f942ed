"""Backward induction against trees that were worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from agent.state import Action
from policy.decisions import Node, Seen, Tree, examples, values

COST = 0.1
ALL: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


def _node(path: str, quality: float | None, *valid: Action, label: Action | None = None) -> Node:
    return Node(path, Seen(path, {"depth": float(len(path))}, valid), quality, "evidence", label=label)


def _tree(*nodes: Node) -> Tree:
    return Tree("q", "set", {node.path: node for node in nodes})


# The plan has two steps; revising at once finds everything, working the plan off finds half of it.
HALF = _tree(
    _node("", 0.2, *ALL),
    _node("C", 0.5, "REVISE", "FINISH"),
    _node("R", 1.0, "CONTINUE", "FINISH"),
    _node("CR", 1.0, "FINISH"),
    _node("RC", 1.0, "FINISH"),
)


RUN = _tree(_node("", 0.6, *ALL), _node("C", 0.9, "REVISE", "FINISH"))
UNMEASURED = _tree(_node("", None, "CONTINUE", "FINISH"), _node("C", 0.9, "FINISH"))
TRIED = _tree(
    _node("", 0.2, "CONTINUE", "FINISH", "MORE", "ASK"),
    _node("C", 0.5, "FINISH"),
    _node("A", 0.9, "CONTINUE", "FINISH"),
    _node("AC", 1.0, "FINISH"),
)
NAN = np.nan


@pytest.mark.parametrize(
    ("tree", "continuation", "worth"),
    [
        # CONTINUE leads to C, where the plan is done: 0.5 less a step. REVISE leads to R, where the plan
        # goes on for a step more that brings nothing: 1.0 less two steps.
        (HALF, {}, {"": [0.4, 0.8, 0.2], "C": [NAN, 0.9, 0.5], "R": [0.9, NAN, 1.0]}),
        (HALF, {("q", "C"): "REVISE", ("q", "R"): "FINISH"}, {"": [0.8, 0.9, 0.2]}),
        (RUN, {}, {"": [0.8, NAN, 0.6]}),
        (UNMEASURED, {}, {"": [0.8, NAN, NAN]}),
        (TRIED, {}, {"": [0.4, NAN, 0.2, NAN, NAN, 0.8], "A": [0.9, NAN, 0.9, NAN, NAN, NAN]}),
    ],
    ids=["default continuation", "learned continuation", "one path", "unmeasured", "further tries"],
)
def test_an_action_is_worth_where_it_leads_less_the_cost_of_a_step(
    tree: Tree, continuation: dict[tuple[str, str], Action], worth: dict[str, list[float]]
) -> None:
    found = values(tree, COST, continuation)
    for path, expected in worth.items():
        assert found[path][: len(expected)] == pytest.approx(expected, nan_ok=True)


def test_advantages_are_over_the_default_action() -> None:
    made = examples([HALF], COST)
    root = made.advantages[[state.text for state in made.states].index("")]
    assert root[:3] == pytest.approx([0.0, 0.4, -0.2])
    assert made.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("label", "worth"), [("FINISH", [0.0, np.nan, COST]), ("CONTINUE", [COST, 0.0, 0.0])]
)
def test_a_label_is_compared_with_the_default_and_no_third_action(
    label: Action, worth: list[float]
) -> None:
    made = examples([_tree(_node("", None, *ALL, "ASK", label=label))], COST)
    assert made.values[0] == pytest.approx([*worth, *[np.nan] * 3], nan_ok=True)


def test_a_label_is_worth_more_than_what_was_measured() -> None:
    labelled = _tree(
        _node("", 0.2, *ALL, label="REVISE"), _node("C", 0.5, "FINISH"), _node("R", 0.1, "FINISH")
    )
    made = examples([labelled], COST)
    row = [state.text for state in made.states].index("")
    assert int(np.nanargmax(made.values[row])) == 1
    assert made.weights[row] > made.weights[1]
