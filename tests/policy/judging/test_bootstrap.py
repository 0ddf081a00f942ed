"""The bootstrap: paired, seeded, and right about what is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.judging.bootstrap import NOTHING, difference, draws, interval, mean


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.integers(0, 5))
def test_the_interval_contains_the_estimate(values: list[float], seed: int) -> None:
    found = mean(np.array(values), draws(len(values), 400, seed))
    assert found.low - 1e-9 <= found.estimate <= found.high + 1e-9
    assert found.estimate == pytest.approx(np.mean(values), abs=1e-9)
    assert found.questions == len(values)


def test_the_same_seed_gives_the_same() -> None:
    values = np.random.default_rng(1).normal(size=50)
    assert mean(values, draws(50, 100, 3)) == mean(values, draws(50, 100, 3))
    assert mean(values, draws(50, 100, 3)) != mean(values, draws(50, 100, 4))


def test_the_width_is_that_of_theory() -> None:
    values = np.random.default_rng(2).normal(size=400)
    found = mean(values, draws(400))
    expected = 2 * 1.96 * values.std() / math.sqrt(400)
    assert found.high - found.low == pytest.approx(expected, rel=0.08)


def test_pairing_removes_what_questions_have_in_common() -> None:
    rng = np.random.default_rng(3)
    hard = rng.normal(size=200) * 10
    found = difference(hard + 0.1 + rng.normal(size=200) * 0.01, hard, draws(200))
    assert found.low > 0
    assert found.high - found.low < 0.01


def test_what_is_not_known_is_left_out_of_both() -> None:
    ours, theirs = np.array([1.0, np.nan, 3.0, 9.0]), np.array([0.0, 5.0, 1.0, np.nan])
    found = difference(ours, theirs, draws(4, 300))
    assert found.estimate == 1.5
    assert found.questions == 2
    assert mean(np.full(3, np.nan), draws(3, 10)) is NOTHING
    assert not NOTHING.low > 0


def test_columns_are_averaged_each_over_its_own() -> None:
    values = np.array([[1.0, np.nan], [3.0, 5.0]])
    means = draws(2, 50).means(values)
    assert means.shape == (51, 2)
    np.testing.assert_array_equal(means[0], [2.0, 5.0])


def test_an_estimate_that_is_undefined_has_no_interval() -> None:
    assert interval(np.array([np.nan, 1.0, 2.0]), 3) is NOTHING


def test_no_questions() -> None:
    with pytest.raises(ValueError, match="no questions"):
        draws(0)
