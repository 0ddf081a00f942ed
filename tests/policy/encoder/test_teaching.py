"""The forest as a teacher."""

from __future__ import annotations

import numpy as np
import pytest

from policy import forest
from policy.encoder.teaching import taught
from policy.examples import Examples
from tests.policy.encoder.made import examples


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 10)


def test_targets_move_halfway_to_what_the_forest_says_of_questions_it_has_not_seen() -> None:
    data = examples(80)
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.3, data.advantages.shape) * (data.advantages != 0)
    noisy = Examples(
        data.states,
        data.questions,
        data.datasets,
        data.values,
        data.advantages + noise,
        data.sufficient,
        data.weights,
    )

    learned = taught(noisy)

    known = ~np.isnan(data.advantages)
    error = np.abs(learned.advantages - data.advantages)[known].mean()
    assert error < 0.8 * np.abs(noise)[known].mean()


def test_what_nobody_knows_stays_unknown_and_the_default_is_worth_nothing_more() -> None:
    data = examples(80)

    learned = taught(data)

    assert np.array_equal(np.isnan(learned.advantages), np.isnan(data.advantages))
    assert (learned.advantages[:, 0] == 0).all()  # CONTINUE is the default in all of them
    assert ((learned.sufficient >= 0) & (learned.sufficient <= 1)).all()
    assert learned.values is data.values


def test_it_never_teaches_a_question_from_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    data = examples(80)
    fitted: list[set[str]] = []
    fit = forest.fit

    def spying(some: Examples, *, seed: int) -> forest.Forest:
        fitted.append(set(some.questions))
        return fit(some, seed=seed)

    monkeypatch.setattr(forest, "fit", spying)
    taught(data)

    assert len(fitted) == 4
    for question in set(data.questions):
        assert sum(question not in questions for questions in fitted) == 1


def test_one_question_alone_teaches_itself() -> None:
    data = examples(4)

    assert np.array_equal(taught(data).advantages, data.advantages, equal_nan=True)
