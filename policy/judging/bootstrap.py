"""Paired bootstrap over questions: every policy and every baseline gets the same resampled questions.

Percentile intervals (Efron and Tibshirani, 1993). A resample is a row of counts, so the means of any
number of columns under all resamples are one matrix product. Row 0, in which every question counts once,
is the estimate itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from policy.decisions.trees import Floats

RESAMPLES = 2_000
SEED = 20_260_813
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate from so many questions with its percentile interval; all NaN if nothing is known."""

    estimate: float
    low: float
    high: float
    questions: int = 0

    def __str__(self) -> str:
        return f"{self.estimate:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


NOTHING = Interval(math.nan, math.nan, math.nan)


@lru_cache(maxsize=32)
def draws(questions: int) -> Floats:
    """How often each of ``questions`` questions is drawn, shape (1 + RESAMPLES, questions)."""
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(questions, np.full(questions, 1 / questions), size=RESAMPLES)
    return np.concatenate([np.ones((1, questions)), counts])


def means(columns: Mapping[str, Floats]) -> dict[str, Interval]:
    """The mean of each per-question measure, shape (n,); NaN is skipped."""
    if not columns:
        return {}
    table = np.stack(list(columns.values()), axis=1)
    known = ~np.isnan(table)
    counts = draws(len(table))
    with np.errstate(invalid="ignore"):  # a resample may draw no known value
        samples = (counts @ np.where(known, table, 0.0)) / (counts @ known.astype(np.float64))
    return {name: _interval(samples[:, i], int(known[:, i].sum())) for i, name in enumerate(columns)}


def mean(values: Floats) -> Interval:
    """The mean of a per-question measure, shape (n,), or of a paired difference; NaN is skipped."""
    return means({"": values})[""]


def _interval(samples: Floats, questions: int) -> Interval:
    """The estimate ``samples[0]`` with the percentiles of the other samples."""
    resampled = samples[1:][~np.isnan(samples[1:])]
    if math.isnan(samples[0]) or not resampled.size:
        return NOTHING
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(samples[0]), float(low), float(high), questions)
