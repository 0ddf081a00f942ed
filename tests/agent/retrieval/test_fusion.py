"""Reciprocal rank fusion against the paper's formula."""

from __future__ import annotations

import pytest

from agent.retrieval.fusion import best_first, reciprocal_rank_fusion


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    scores = reciprocal_rank_fusion([[1, 2, 3], [3, 1]])
    assert scores == pytest.approx({1: 1 / 61 + 1 / 62, 2: 1 / 62, 3: 1 / 63 + 1 / 61})
    assert best_first(scores) == [1, 3, 2]


def test_weights() -> None:
    assert reciprocal_rank_fusion([[1], [2]], [0.5, 2]) == pytest.approx({1: 0.5 / 61, 2: 2 / 61})


def test_equals_are_ordered_by_id() -> None:
    assert best_first({7: 1.0, 3: 1.0, 5: 2.0}) == [5, 3, 7]


def test_nothing_fuses_to_nothing() -> None:
    assert reciprocal_rank_fusion([]) == {}
    assert reciprocal_rank_fusion([[], []]) == {}
