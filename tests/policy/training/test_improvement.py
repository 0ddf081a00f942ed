"""Targets that count on a learned continuation, which never has seen the question it decides on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from policy.decisions.returns import Examples, examples
from policy.decisions.trees import Tree, fold
from policy.training import forest
from policy.training.forest import FOLDS, improved
from tests.policy.trees import random_trees

COST = 0.05


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 5)


@pytest.fixture
def trees() -> Sequence[Tree]:
    return random_trees(0, 40)


def test_without_a_round_the_default_schedule_goes_on(trees: Sequence[Tree]) -> None:
    assert np.array_equal(
        improved(trees, COST, rounds=0).values, examples(trees, COST).values, equal_nan=True
    )


def test_the_same_seed_gives_the_same_targets(trees: Sequence[Tree]) -> None:
    one, other = improved(trees, COST, seed=1, rounds=1), improved(trees, COST, seed=1, rounds=1)
    assert np.array_equal(one.values, other.values, equal_nan=True)


def test_finishing_is_worth_its_quality_whoever_goes_on(trees: Sequence[Tree]) -> None:
    finish = improved(trees, COST, rounds=1).values[:, 2]
    assert np.array_equal(finish, examples(trees, COST).values[:, 2], equal_nan=True)


def test_no_forest_decides_on_a_question_that_it_was_fitted_on(
    trees: Sequence[Tree], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted_on: list[set[str]] = []
    asked: list[set[int]] = []
    fit, decisions = forest.fit, forest._decisions

    def seen(made: Examples, **settings: Any) -> forest.Forest:
        fitted_on.append(set(made.questions))
        return fit(made, **settings)

    def decided(outside: Sequence[Tree], scorer: forest.Forest) -> Any:
        assert not fitted_on[-1] & {tree.question for tree in outside}
        asked.append({fold(tree.question, FOLDS) for tree in outside})
        return decisions(outside, scorer)

    monkeypatch.setattr(forest, "fit", seen)
    monkeypatch.setattr(forest, "_decisions", decided)
    improved(trees, COST, rounds=1)
    assert len(asked) == len(fitted_on) == FOLDS
    assert set().union(*asked) == {fold(tree.question, FOLDS) for tree in trees}
