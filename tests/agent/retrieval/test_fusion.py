"""Reciprocal rank fusion against the paper's formula, and maximal marginal relevance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retrieval.fusion import best_first, maximal_marginal_relevance, reciprocal_rank_fusion
from models.protocols import Vectors


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    assert reciprocal_rank_fusion([[1], [2]], [0.5, 2]) == pytest.approx({1: 0.5 / 61, 2: 2 / 61})
    scores = reciprocal_rank_fusion([[1, 2, 3], [3, 1]])
    assert scores == pytest.approx({1: 1 / 61 + 1 / 62, 2: 1 / 62, 3: 1 / 63 + 1 / 61})
    assert best_first(scores) == [1, 3, 2]
    assert best_first({7: 1.0, 3: 1.0, 5: 2.0}) == [5, 3, 7], "equals by id"


def _at(*degrees: float) -> Vectors:
    """Unit vectors in the plane; the cosine of two is that of the angle between them."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


_QUERY = _at(0)[0]


def test_a_worked_example() -> None:
    # The nearest stands at 10°, its near-double at 12°, another view at -40° and something off at 80°.
    picked = maximal_marginal_relevance(_QUERY, _at(10, 12, -40, 80), trade_off=0.5)
    assert [row for row, _ in picked] == [0, 2, 1, 3]
    assert [value for _, value in picked] == pytest.approx(
        [
            0.5 * 0.98481,  # cos 10°; nothing is picked yet
            0.5 * 0.76604 - 0.5 * 0.64279,  # cos 40°, and cos 50° to the first (the double: 0.978 - 0.999)
            0.5 * 0.97815 - 0.5 * 0.99939,  # cos 12°, and cos 2° to the first
            0.5 * 0.17365 - 0.5 * 0.37461,  # cos 80°, and cos 68° to the double, which it is most like
        ],
        abs=1e-4,
    )


@given(st.lists(st.floats(-180, 180), max_size=12), st.floats(0, 1))
def test_each_is_picked_once_and_the_nearest_first(degrees: list[float], trade_off: float) -> None:
    passages = _at(*degrees) if degrees else np.zeros((0, 2), np.float32)
    rows = [row for row, _ in maximal_marginal_relevance(_QUERY, passages, trade_off)]
    assert len(rows) == len(set(rows)) == len(degrees)
    if rows and trade_off > 0.01:
        assert float(passages[rows[0]] @ _QUERY) == pytest.approx(float((passages @ _QUERY).max()))
