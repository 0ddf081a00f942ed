"""Schedules: what they do where a letter is not valid, and which is chosen."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.decisions.decider import PolicyState, valid_actions
from agent.decisions.features import features
from agent.decisions.judges import Rules
from policy.decisions.trees import Node, Seen, Tree
from policy.judging.walking import follow, walk
from tests.benchmarks.frontier import fixed, grid, schedule
from tests.benchmarks.untrained import answer_repeats, plan_done, repeats_or_plan_done, rules
from tests.policy.trees import node, random_tree, random_trees


def test_fixed_steps_revise_when_the_plan_is_done_and_finish_when_nothing_is_left() -> None:
    nodes = [
        node("", ("CONTINUE", "FINISH"), 0.0),
        node("C", ("REVISE", "FINISH"), 0.1),
        node("CR", ("FINISH",), 0.2),
    ]
    tree = Tree("q", "", {n.path: n for n in nodes})
    assert [walk(tree, fixed(k)).path for k in range(1, 6)] == ["", "C", "CR", "CR", "CR"]
    assert walk(tree, schedule("RRC")).path == "CR"


def test_where_it_may_not_finish_a_schedule_works_on() -> None:
    nodes = [node("", ("CONTINUE",), 0.0), node("C", ("REVISE", "FINISH"), 0.5)]
    tree = Tree("q", "", {n.path: n for n in nodes})
    assert walk(tree, fixed(1)).steps == 2


@given(st.integers(0, 10_000))
def test_the_grid_is_what_walking_gives(seed: int) -> None:
    trees = [random_tree(np.random.default_rng(seed + i), lost=0.1 * i) for i in range(3)]
    found = grid(trees, 4)
    assert len(found.letters) == 15
    for column, letters in enumerate(found.letters):
        walked = follow("", trees, schedule(letters))
        np.testing.assert_array_equal(found.steps[:, column], walked.steps)
        np.testing.assert_array_equal(found.quality[:, column], walked.quality)


def test_the_best_schedule_of_each_length() -> None:
    trees = random_trees(7, 60)
    found = grid(trees)
    chosen = found.best()
    assert sorted(chosen) == [1, 2, 3, 4]
    for k, letters in chosen.items():
        best = max(
            follow("", trees, schedule("".join(word))).quality.mean()
            for word in product("CR", repeat=k - 1)
        )
        assert follow("", trees, schedule(letters)).quality.mean() == pytest.approx(best)


def test_the_best_of_all_depends_on_the_cost() -> None:
    trees = random_trees(8, 60)
    found = grid(trees)
    assert found.best_of_all(5.0) == ""
    assert len(found.best_of_all(0.0)) == 3


def test_trees_that_nobody_measured_have_no_best() -> None:
    found = grid([Tree("q", "", {"": node("", ("FINISH",), None)})])
    assert found.best() == {}
    with pytest.raises(ValueError, match="No schedule"):
        found.best_of_all()


def test_answers_that_repeat_end_it() -> None:
    def at(repeats: float, barren: float, *valid: str) -> Node:
        seen = {"answer_repeats": repeats, "barren": barren}
        return node("", valid, 0.0, features=seen)  # type: ignore[arg-type]

    assert answer_repeats(at(0, 0, "CONTINUE", "FINISH")) == "CONTINUE"
    assert answer_repeats(at(0, 0, "REVISE", "FINISH")) == "REVISE"
    assert answer_repeats(at(1, 0, "CONTINUE", "FINISH")) == "FINISH"
    assert answer_repeats(at(0, 1, "CONTINUE", "FINISH")) == "FINISH"
    assert answer_repeats(at(1, 1, "CONTINUE")) == "CONTINUE"
    assert repeats_or_plan_done(at(0, 0, "REVISE", "FINISH")) == "FINISH"
    assert repeats_or_plan_done(at(1, 0, "CONTINUE", "FINISH")) == "FINISH"
    assert plan_done(at(1, 0, "CONTINUE", "FINISH")) == "CONTINUE"


@pytest.mark.parametrize("found", [(True,), (False,), (True, False), (False, False)])
@pytest.mark.parametrize("still_open", [(), ("Who made it?",), ("When was #{n} born?",)])
@pytest.mark.parametrize("last", ["", "CONTINUE", "REVISE"])
def test_rules_from_features_are_the_rules(
    found: tuple[bool, ...], still_open: tuple[str, ...], last: str
) -> None:
    steps = [
        {"question": f"s{i}", "answer": "x" if ok else "", "found": ok, "relevance": 0.5}
        for i, ok in enumerate(found)
    ]
    state = PolicyState(
        question="When was the maker born?",
        step=len(found),
        steps_left=3,
        revisions_left=1,
        tokens_left=1.0,
        plan_done=len(found),
        open_questions=[q.format(n=len(found)) for q in still_open],
        last_action=last,
        query="q",
        fresh=1,
        again=0,
        barren=0,
        top_score=0.5,
        scores=[0.5],
        grade="correct",
        corrections=0,
        findings=steps,
        missing=[str(s["question"]) for s in steps if not s["found"]],
        evidence=[{"title": "t", "excerpt": "e", "step": 1, "relevance": 0.5}],
    )
    valid = valid_actions(state)
    seen = Node("", Seen("", features(state), valid), None)
    last_lost = not found[-1]
    references = bool(still_open) and "#" in still_open[0]
    if references and False in found and not last_lost:
        return  # the reference is to a step that found something: features cannot tell
    assert rules(seen) == Rules().decide(state, valid).action
