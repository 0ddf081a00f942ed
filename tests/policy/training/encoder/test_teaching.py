"""The forest as a teacher."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from policy.decisions.returns import Examples
from policy.training import forest
from policy.training.encoder.fitting import taught
from tests.policy.training.encoder.made import examples


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 10)


def test_sufficiency_moves_halfway_and_what_nobody_knows_stays_unknown() -> None:
    data = examples(80)
    sufficient = np.where(np.arange(80) % 7 == 0, np.nan, data.sufficient)
    learned = taught(dataclasses.replace(data, sufficient=sufficient))
    known = ~np.isnan(sufficient)
    assert np.array_equal(~np.isnan(learned.sufficient), known)
    assert (np.abs(learned.sufficient - sufficient)[known] <= 0.5).all()
    assert (learned.sufficient != sufficient)[known].any()
    assert ((learned.sufficient >= 0) & (learned.sufficient <= 1))[known].all()
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

    assert np.array_equal(taught(data).sufficient, data.sufficient, equal_nan=True)
