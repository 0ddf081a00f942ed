"""Walks on hand-worked and on random trees; the bootstrap of what comes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.state import Action
from policy.decisions import INDEX, Node, Seen, Tree, default_action
from policy.judging import NOTHING, follow, mean, means, score, walk
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


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60))
def test_the_interval_contains_the_estimate(values: list[float]) -> None:
    interval = mean(np.array(values))
    assert interval.low - 1e-9 <= interval.estimate <= interval.high + 1e-9
    assert interval.estimate == pytest.approx(np.mean(values), abs=1e-9)


def test_the_width_is_that_of_theory() -> None:
    values = np.random.default_rng(2).normal(size=400)
    interval = mean(values)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(400), rel=0.08)


def test_each_column_is_averaged_over_what_is_known_of_it() -> None:
    known = means(
        {
            "both": np.array([1.0, np.nan, 3.0, 9.0]) - np.array([0.0, 5.0, 1.0, np.nan]),
            "all": np.array([1.0, 2.0, 3.0, 4.0]),
            "none": np.full(4, np.nan),
        }
    )
    assert (known["both"].estimate, known["all"].estimate) == (1.5, 2.5)
    assert known["none"] is NOTHING
    assert not NOTHING.low > 0
    assert means({}) == {}
