"""The bootstrap: paired, seeded, and right about what is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.judging import NOTHING, mean, means


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
