"""The forest as arrays says what scikit-learn's says, and survives being stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.state import ACTIONS, Action
from policy.decisions.returns import Examples
from policy.decisions.trees import INDEX, Seen, default_action
from policy.training import forest

ALL: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


def _examples(n: int = 240, seed: int = 0) -> Examples:
    """Finishing is better by what ``held`` says, and revising by what ``weak`` says."""
    rng = np.random.default_rng(seed)
    held, weak, noise = rng.random((3, n))
    states = [
        Seen("", {"held": h, "weak": w, "noise": z}, ALL if i % 4 else ("REVISE", "FINISH"))
        for i, (h, w, z) in enumerate(zip(held, weak, noise, strict=True))
    ]
    advantages = np.stack([np.zeros(n), weak - 0.5, held - 0.5], axis=1)
    for row, state in enumerate(states):
        if "CONTINUE" not in state.valid:
            advantages[row] -= advantages[row, INDEX[default_action(state.valid)]]
            advantages[row, 0] = np.nan
    return Examples(
        states,
        [str(i) for i in range(n)],
        ["set"] * n,
        advantages,
        advantages,
        (held > 0.5).astype(np.float64),
        np.ones(n),
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


def test_what_is_not_valid_has_no_chance_and_the_default_is_the_zero() -> None:
    fitted = forest.fit(_examples(), seed=0)
    seen = Seen("", {"held": 0.5, "weak": 0.5, "noise": 0.5}, ("REVISE", "FINISH"))
    (row,) = fitted.score([seen]).advantages
    assert row[INDEX["CONTINUE"]] == -np.inf
    assert row[INDEX["FINISH"]] == 0.0


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


def test_it_is_the_same_after_being_stored(tmp_path: Path) -> None:
    made = _examples()
    fitted = forest.fit(made, seed=0)
    fitted.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [forest.FILE]
    again = forest.Forest.read(tmp_path, fitted.names)
    before, after = fitted.score(made.states), again.score(made.states)
    assert np.array_equal(before.advantages, after.advantages)
    assert np.array_equal(before.sufficiency, after.sufficiency)


def test_the_same_seed_gives_the_same_forest() -> None:
    made = _examples()
    one, other = forest.fit(made, seed=3), forest.fit(made, seed=3)
    assert np.array_equal(one.score(made.states).advantages, other.score(made.states).advantages)


def test_without_any_revision_to_learn_from_it_never_revises() -> None:
    made = _examples()
    made.advantages[:, INDEX["REVISE"]] = np.nan
    made.advantages[[("CONTINUE" not in s.valid) for s in made.states]] = np.nan
    fitted = forest.fit(made, seed=0)
    assert np.all(fitted.score(made.states).advantages[1::4, INDEX["REVISE"]] == 0.0)
