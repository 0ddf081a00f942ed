"""Walks on hand-worked and on random trees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.state import Action
from policy.decisions import INDEX, Node, Seen, Tree, default_action
from policy.judging import Decide, default_schedule, follow, score, walk
from policy.serving.scorers import Rule, Scores
from tests.policy.trees import node, random_tree, random_trees, schedule

ALL: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


def hand() -> Tree:
    """Root 0.2; C brings it to 0.6, CC no further; R completes it at once."""
    nodes = [
        node("", ALL, 0.2, {"complete": 0.0}),
        node("C", ("CONTINUE", "FINISH"), 0.6, {"complete": 0.0}),
        node("CC", ("FINISH",), 0.6, {"complete": 0.0}),
        node("R", ("FINISH",), 1.0, {"complete": 1.0}),
    ]
    return Tree("q", "hand", {n.path: n for n in nodes})


@pytest.mark.parametrize(
    ("letters", "quality", "steps"), [("", 0.2, 1), ("C", 0.6, 2), ("CC", 0.6, 3), ("R", 1.0, 2)]
)
def test_a_walk_ends_where_the_policy_finishes(letters: str, quality: float, steps: int) -> None:
    end = walk(hand(), schedule(letters))
    assert end is not None
    assert (end.path, end.quality, end.steps) == (letters, quality, steps)


def test_an_invalid_action_is_refused() -> None:
    with pytest.raises(ValueError, match="REVISE is not valid at 'C'"):
        walk(hand(), lambda n: "CONTINUE" if not n.path else "REVISE")


def test_a_run_of_one_path_tells_only_of_policies_that_stop_on_it() -> None:
    whole = hand()
    line = Tree("q", "", {path: whole.nodes[path] for path in ("", "C", "CC")})
    assert walk(line, schedule("C")) == whole.nodes["C"]
    assert walk(line, schedule("R")) is None
    outcomes = follow([line, whole], schedule("R"))
    assert outcomes.unknown == 1
    np.testing.assert_array_equal(outcomes.steps, [np.nan, 2.0])


def test_an_unmeasured_stop_and_a_silent_judge_are_not_known() -> None:
    bare = Tree("q", "", {"": node("", ("FINISH",), None)})
    assert follow([bare], schedule("")).unknown == 1
    assert math.isnan(follow([bare], schedule("")).steps[0])
    assert walk(hand(), lambda _n: None) is None


class Noise:
    """A scorer that reads one random feature."""

    def score(self, states: Sequence[Seen]) -> Scores:
        advantages = np.full((len(states), 3), -np.inf)
        noise = np.array([state.features["noise"] for state in states])
        for row, state in enumerate(states):
            for action in state.valid:
                advantages[row, INDEX[action]] = (
                    0.0 if action == default_action(state.valid) else noise[row]
                )
        return Scores(advantages, 1 / (1 + np.exp(-noise)))


def test_a_batch_decides_as_state_by_state() -> None:
    trees, rule, scorer = random_trees(3, 20), Rule(0.3, 1.0), Noise()

    def one(state: Node) -> Action:
        return rule.action(state.valid, scorer.score([state.seen]).advantages[0])

    batch = follow(trees, score(trees, scorer).decide(rule))
    assert batch == follow(trees, one)
    assert len({end.path for end in batch.ends if end}) > 3


@given(st.integers(0, 10_000), st.text("CR", max_size=5))
def test_a_walk_on_what_is_known_is_the_walk_on_all(seed: int, letters: str) -> None:
    whole = random_tree(np.random.default_rng(seed))
    end = walk(whole, schedule(letters))
    path = end.path if end else ""
    line = Tree("q", "", {path[:i]: whole.nodes[path[:i]] for i in range(len(path) + 1)})
    for k in range(len(path) + 1):
        assert walk(line, schedule(path[:k])) == walk(whole, schedule(path[:k]))


@given(st.integers(0, 10_000), st.floats(0.0, 0.5))
def test_broken_trees_never_fail(seed: int, lost: float) -> None:
    tree = random_tree(np.random.default_rng(seed), lost=lost)
    policies: list[Decide] = [default_schedule, *map(schedule, ("", "C", "CCCC", "R", "CR", "RCR", "CRC"))]
    for decide in policies:
        end = walk(tree, decide)
        assert end is None or end.quality is not None
