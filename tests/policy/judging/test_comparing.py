"""Comparing two policies on the same questions, down to what nobody tried."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from agent.state import Action
from policy.decisions.reading import NoSuchSource
from policy.decisions.trees import Node, Seen, Tree
from policy.judging.comparing import DEFAULT, NothingToCompare, compare, questions
from policy.judging.gate import Opponent
from policy.serving.scorers import Rule
from tests.policy.made import Preferring
from tests.policy.training.made import collected
from traces.store import Store

RULE = Rule(0.05, 0.1)
EARLY = Opponent("early", Preferring("FINISH", 0.2), RULE)
LATE = Opponent("late", Preferring("CONTINUE", 0.2), RULE)


def _tree(number: int, first: float, second: float | None) -> Tree:
    """Finishing after the first of two steps is worth ``first``; None: the second one was never taken."""
    valid: tuple[Action, ...] = ("CONTINUE", "FINISH")
    nodes = {"": Node("", Seen("", {}, valid), first, detail={"complete": float(first == 1)})}
    if second is not None:
        nodes["C"] = Node("C", Seen("C", {}, ("FINISH",)), second, detail={"complete": float(second == 1)})
    return Tree(f"q{number}", "toy", nodes)


def test_each_is_worth_what_it_reaches() -> None:
    trees = [_tree(i, 0.5, 1.0) for i in range(30)]
    found = compare(EARLY, LATE, trees, 0.05)
    early, late, default = found.worth
    assert (early.name, late.name, default.name) == ("early", "late", DEFAULT)
    assert (early.quality.estimate, early.steps.estimate) == (0.5, 1.0)
    assert (late.quality.estimate, late.steps.estimate) == (1.0, 2.0)
    assert (early.complete.estimate, late.complete.estimate) == (0.0, 1.0)
    assert early.utility.estimate == pytest.approx(0.45)
    assert default.utility.estimate == pytest.approx(0.9)
    assert found.utility.estimate == pytest.approx(-0.45)
    assert (found.quality.high, found.steps.low) == (-0.5, -1.0)
    assert (found.agreement, found.states) == (0.0, 30), "the second state leaves no choice"


def test_a_policy_is_like_itself() -> None:
    found = compare(EARLY, EARLY, [_tree(i, 0.5, 1.0) for i in range(10)])
    assert (found.utility.estimate, found.utility.low, found.utility.high) == (0.0, 0.0, 0.0)
    assert found.agreement == 1.0


def test_what_nobody_tried_is_left_out_and_counted() -> None:
    trees = [_tree(i, 0.5, 1.0 if i % 2 else None) for i in range(20)]
    found = compare(EARLY, LATE, trees, 0.05)
    assert [worth.known for worth in found.worth] == [20, 10, 10]
    assert found.utility.questions == 10
    never = compare(EARLY, LATE, [_tree(i, 0.5, None) for i in range(5)])
    assert never.worth[1].known == 0
    assert math.isnan(never.utility.estimate)


def test_without_questions_there_is_nothing_to_compare(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NothingToCompare, match="no held-out question"):
        questions([], store)
    with pytest.raises(NoSuchSource, match="There is no file"):
        questions([tmp_path / "nothing.duckdb"], None)


def test_a_store_that_is_named_twice_is_no_more_questions(tmp_path: Path) -> None:
    store = collected(tmp_path / "some.duckdb", 20)
    assert len(questions([store, store], None, everything=True)) == 20
