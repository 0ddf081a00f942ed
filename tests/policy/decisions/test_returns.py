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


def test_the_default_continuation_works_the_plan_off_and_finishes() -> None:
    worth = values(HALF, COST, {})
    # CONTINUE leads to C, where the plan is done: 0.5 less a step. REVISE leads to R, where the plan goes
    # on for a step more that brings nothing: 1.0 less two steps.
    assert worth[""][:3] == pytest.approx([0.4, 0.8, 0.2])
    assert worth["C"][:3] == pytest.approx([np.nan, 0.9, 0.5], nan_ok=True)
    assert worth["R"][:3] == pytest.approx([0.9, np.nan, 1.0], nan_ok=True)


def test_a_learned_continuation_changes_what_comes_before_it() -> None:
    worth = values(HALF, COST, {("q", "C"): "REVISE", ("q", "R"): "FINISH"})
    assert worth[""][:3] == pytest.approx([0.8, 0.9, 0.2])


def test_advantages_are_over_the_default_action() -> None:
    made = examples([HALF], COST)
    root = made.advantages[[state.text for state in made.states].index("")]
    assert root[:3] == pytest.approx([0.0, 0.4, -0.2])
    assert made.weights.sum() == pytest.approx(1.0)


def test_a_run_of_one_path_tells_what_finishing_earlier_would_have_been_worth() -> None:
    run = _tree(_node("", 0.6, *ALL), _node("C", 0.9, "REVISE", "FINISH"))
    worth = values(run, COST, {})
    assert worth[""][:3] == pytest.approx([0.8, np.nan, 0.6], nan_ok=True)


def test_where_nobody_measured_nothing_is_made_up() -> None:
    run = _tree(_node("", None, "CONTINUE", "FINISH"), _node("C", 0.9, "FINISH"))
    worth = values(run, COST, {})
    assert worth[""][:3] == pytest.approx([0.8, np.nan, np.nan], nan_ok=True)


def test_a_further_try_is_worth_where_it_leads_less_the_cost_of_a_step() -> None:
    tried = _tree(
        _node("", 0.2, "CONTINUE", "FINISH", "MORE", "ASK"),
        _node("C", 0.5, "FINISH"),
        _node("A", 0.9, "CONTINUE", "FINISH"),
        _node("AC", 1.0, "FINISH"),
    )
    nan = np.nan
    worth = values(tried, COST, {})
    assert worth[""] == pytest.approx([0.4, nan, 0.2, nan, nan, 0.8], nan_ok=True)
    assert worth["A"] == pytest.approx([0.9, nan, 0.9, nan, nan, nan], nan_ok=True)


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
