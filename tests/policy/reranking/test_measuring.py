"""Recall in the top, calibration and intervals, against values worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from policy.reranking.measuring import calibration_error, fit_calibration, interval, recall_at
from policy.reranking.mining import Found, Mined


def found(gold: bool, rank: int | None) -> Found:
    return Found("text", gold, False, rank, 0.5, 0.5)


ONE = Mined("p", "r", "q", True, [found(False, 0), found(True, 1), found(False, 2), found(True, None)])


def test_the_share_of_gold_in_the_top() -> None:
    assert recall_at([ONE], None, 1, 3).tolist() == [0.0]
    assert recall_at([ONE], None, 2, 3).tolist() == [0.5], "what recall missed counts as missed"
    assert recall_at([ONE], [[0.1, 0.9, 0.3]], 1, 3).tolist() == [0.5]
    assert recall_at([ONE], [[0.1, 0.9, 0.3]], 3, 1).tolist() == [0.0], "only the first is reranked"


def test_equal_scores_keep_the_fused_order() -> None:
    assert recall_at([ONE], [[0.5, 0.5, 0.5]], 1, 3).tolist() == [0.0]


def test_the_calibration_finds_the_line_that_made_the_data() -> None:
    chance = np.random.default_rng(0)
    logits = chance.normal(0, 3, 20_000)
    supports = chance.random(20_000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
    slope, intercept = fit_calibration(logits, supports)
    assert slope == pytest.approx(0.5, abs=0.03)
    assert intercept == pytest.approx(-1, abs=0.08)
    assert calibration_error(1 / (1 + np.exp(-(slope * logits + intercept))), supports) < 0.02


def test_the_calibration_error_by_hand() -> None:
    p = np.array([0.9, 0.9, 0.1, 0.1])
    assert calibration_error(p, np.array([True, True, False, False])) == pytest.approx(0.1)
    assert calibration_error(p, np.array([True, False, False, False])) == pytest.approx(0.25)


def test_the_interval_holds_the_mean() -> None:
    low, high = interval(np.array([0.0, 1.0] * 50))
    assert low < 0.5 < high
    assert interval(np.full(10, 0.25)) == (0.25, 0.25)
