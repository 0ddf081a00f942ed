"""The forest as arrays says what scikit-learn's says, and survives being stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.state import ACTIONS, TRIES, Action
from policy.decisions import COST, ENOUGH, INDEX, Examples, Seen, Tree, examples, fold, valid_columns
from policy.serving.scorers import Rule
from policy.training import forest
from tests.policy.trees import random_trees, widened

ALL: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 20)


def _examples() -> Examples:
    """Finishing is better by what ``held`` says, and revising by what ``weak`` says."""
    n, rng = 240, np.random.default_rng(0)
    held, weak, noise = rng.random((3, n))
    states = [
        Seen("", {"held": h, "weak": w, "noise": z}, ALL if i % 4 else ("REVISE", "FINISH"))
        for i, (h, w, z) in enumerate(zip(held, weak, noise, strict=True))
    ]
    values = widened(*np.stack([np.zeros(n), weak - 0.5, held - 0.5], axis=1))
    values[~valid_columns(states)] = np.nan
    return Examples(
        states, [str(i) for i in range(n)], ["set"] * n, values, (held > 0.5).astype(np.float64), np.ones(n)
    )


def test_it_learns_what_there_is_to_learn() -> None:
    fitted = forest.fit(_examples(), seed=0)
    states = [
        Seen("", {"held": 0.95, "weak": 0.1, "noise": 0.5}, ALL),
        Seen("", {"held": 0.05, "weak": 0.9, "noise": 0.5}, ALL),
    ]
    scores = fitted.score(states)
    assert scores.advantages.shape == (2, len(ACTIONS))
    assert [ALL[int(i)] for i in scores.advantages.argmax(axis=1)] == ["FINISH", "REVISE"]
    assert scores.sufficiency[0] > 0.8
    assert scores.sufficiency[1] < 0.2
    (row,) = fitted.score([replace(states[0], valid=("REVISE", "FINISH"))]).advantages
    assert (row[INDEX["CONTINUE"]], row[INDEX["FINISH"]]) == (-np.inf, 0.0), "invalid, and the default"


@pytest.mark.parametrize(("taken", "learned"), [(0, False), (ENOUGH - 1, False), (ENOUGH, True)])
def test_a_further_try_is_learned_where_it_was_taken_often_enough_and_else_never_chosen(
    taken: int, learned: bool, tmp_path: Path
) -> None:
    known = _examples()
    known.values[:taken, INDEX["ASK"]] = 9.0
    forest.fit(known, seed=0).save(tmp_path)
    fitted = forest.Forest.read(tmp_path, tuple(known.states[0].features))
    before = forest.fit(_examples(), seed=0).score(known.states).advantages
    asking = [replace(state, valid=(*state.valid, *TRIES)) for state in known.states]
    now = fitted.score(asking).advantages
    assert np.array_equal(now[:, :3], before[:, :3])
    assert np.all(np.isneginf(now[:, [INDEX["MORE"], INDEX["WORDS"]]]))
    rule = Rule(margin=0.1, temperature=1.0)
    chosen = {rule.action(state.valid, row) for state, row in zip(asking, now, strict=True)}
    assert ("ASK" in chosen) == learned


def test_a_few_corrections_change_what_they_are_about_and_little_else() -> None:
    before = forest.fit(_examples(), seed=0)
    # A user goes on where the forest would finish, in states that are marked by much noise.
    states = [Seen("", {"held": 0.9, "weak": 0.1, "noise": 2 + i / 30}, ALL) for i in range(30)]
    values = widened(*np.tile([COST, 0.0, 0.0], (30, 1)))
    corrections = Examples(
        states, [str(i) for i in range(30)], ["own"] * 30, values, np.full(30, np.nan), np.ones(30)
    )
    after = forest.fit(corrections, seed=0, onto=before)
    corrected = Seen("", {"held": 0.9, "weak": 0.1, "noise": 2.5}, ALL)
    assert before.score([corrected]).advantages.argmax() == INDEX["FINISH"]
    assert after.score([corrected]).advantages.argmax() == INDEX["CONTINUE"]
    assert after.score(_examples().states).sufficiency == pytest.approx(
        before.score(_examples().states).sufficiency, abs=1e-6
    )


def test_the_arrays_predict_what_the_fitted_trees_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.ensemble import RandomForestRegressor

    fitted: list[Any] = []
    whole = RandomForestRegressor.fit

    def remembered(self: Any, x: Any, y: Any, sample_weight: Any = None) -> Any:
        fitted.append(self)
        return whole(self, x, y, sample_weight)

    monkeypatch.setattr(RandomForestRegressor, "fit", remembered)
    made = _examples()
    scores = forest.fit(made, seed=1).score(made.states)
    columns = forest.table(made.states, ("held", "weak", "noise"))
    assert scores.sufficiency == pytest.approx(fitted[-1].predict(columns), abs=1e-6)


# --- targets that count on a learned continuation ---------------------------------------------------------


def test_no_forest_decides_on_a_question_that_it_was_fitted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = random_trees(0, 40)
    monkeypatch.setattr(forest, "ROUNDS", 1)
    fitted_on: list[set[str]] = []
    asked: list[set[int]] = []
    fit, decisions = forest.fit, forest._decisions

    def seen(made: Examples, **settings: Any) -> forest.Forest:
        fitted_on.append(set(made.questions))
        return fit(made, **settings)

    def decided(outside: Sequence[Tree], scorer: forest.Forest) -> Any:
        assert not fitted_on[-1] & {tree.question for tree in outside}
        asked.append({fold(tree.question, forest.FOLDS) for tree in outside})
        return decisions(outside, scorer)

    monkeypatch.setattr(forest, "fit", seen)
    monkeypatch.setattr(forest, "_decisions", decided)
    finish = forest.improved(trees, COST).values[:, 2]
    assert np.array_equal(finish, examples(trees, COST).values[:, 2], equal_nan=True), "whoever goes on"
    assert len(asked) == len(fitted_on) == forest.FOLDS
    assert set().union(*asked) == {fold(tree.question, forest.FOLDS) for tree in trees}
