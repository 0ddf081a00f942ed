"""The state's numbers as inputs, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from policy.training.encoder.rows import BINS, Columns
from tests.policy.training.encoder.made import seen


def test_a_number_is_standardised_and_rises_through_its_bins() -> None:
    states = [seen("", held=float(value), top_1=1.0) for value in range(BINS + 1)]

    columns = Columns.of(states)
    encoded = columns.encode(states)

    assert encoded.shape == (BINS + 1, columns.width)
    held = encoded[:, 2 : 2 + BINS]
    assert held[0].tolist() == [0.0] * BINS
    assert held[3].tolist() == [1.0] * 3 + [0.0] * (BINS - 3)
    assert encoded[:, 0].mean() == pytest.approx(0.0, abs=1e-6)
    assert encoded[:, 1].tolist() == [0.0] * (BINS + 1)  # a constant says nothing, and divides by nothing


def test_what_is_valid_is_told() -> None:
    states = [seen("", ("CONTINUE", "FINISH")), seen("", ("REVISE", "FINISH"))]

    encoded = Columns.of(states).encode(states)

    assert encoded[:, -3:].tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]


def test_far_out_numbers_are_cut_off() -> None:
    columns = Columns.of([seen("", held=0.0), seen("", held=1.0)])

    encoded = columns.encode([seen("", held=1e9), seen("", held=-1e9)])

    assert np.abs(encoded).max() <= 4.0


def test_arrays_bring_the_same_columns_back() -> None:
    states = [seen("", held=0.2), seen("", held=0.9)]
    columns = Columns.of(states)

    again = Columns.from_arrays(columns.names, columns.arrays())

    assert np.array_equal(again.encode(states), columns.encode(states))


def test_a_state_without_the_number_is_refused() -> None:
    columns = Columns.of([seen("", other=1.0)])

    with pytest.raises(KeyError, match="other"):
        columns.encode([seen("")])
