"""From the network's scores to probabilities, fitted on held-out texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from models.boxed_reader.reader import (
    WORTH_CHECKING,
    Calibration,
    Score,
    found,
    judgement,
    log_odds,
    reading,
)
from models.boxed_reader.windows import Window
from models.protocols import Reading, Span, Support
from policy.evaluation.measures import exact_match
from tests.benchmarks.reader.data import VERDICTS
from tests.benchmarks.reader.held_out import Claim, Question

Scored = list[tuple[Window, Score]]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    """A question, read: the scores of its passages' windows, and of its likely spans as claims."""

    question: Question
    passages: tuple[Scored, ...]
    spans: Mapping[tuple[int, int, int], Scored]

    def judged(self, number: int, read: Reading, calibration: Calibration) -> dict[Span, Support]:
        """The judgements of the spans in a passage's reading that are worth it."""
        return {
            span: judgement(self.spans[key][0][1].support, calibration)
            for span in read.spans
            if (key := (number, span.start, span.end)) in self.spans and span.probability >= WORTH_CHECKING
        }


def calibrated(questions: Sequence[ScoredQuestion], claims: Sequence[tuple[Claim, Scored]]) -> Calibration:
    """The calibration that makes held-out questions and claims likeliest.

    Logistic regressions (Platt, 1999). Every question weighs the same; so does every verdict, because
    how often a claim is right depends on who makes it.
    """
    inputs, right, shares = [], [], []
    spans: list[tuple[list[float], bool, float]] = []
    for one_question in questions:
        question, scored = one_question.question, one_question.passages
        for number, (passage, windows) in enumerate(zip(question.passages, scored, strict=True)):
            read = [
                (score.answers, found(window, passage, score.start, score.end)) for window, score in windows
            ]
            logit, here = max(read, key=lambda one: one[1].margin)
            inputs.append([logit, here.margin])
            right.append(number in question.gold)
            shares.append(1 / len(scored))
            for one in here.spans:
                words = passage[one.start : one.end]
                same = bool(question.answers) and exact_match(words, question.answers) > 0
                spans.append(([log_odds(one.probability), logit, here.margin], same, 1 / len(scored)))
    first, second, intercept = _logistic(np.array(inputs), np.array(right), np.array(shares))
    of_spans = np.array(
        [[share, first * logit + second * margin + intercept] for (share, logit, margin), _, _ in spans]
    )
    weights = np.array([weight for _, _, weight in spans])
    span = _logistic(of_spans, np.array([same for _, same, _ in spans]), weights)
    unchecked = Calibration((first, second, intercept), span, _support(claims), (1.0, 0.0, 0.0))
    return replace(unchecked, checked=_checked(questions, unchecked))


def _checked(questions: Sequence[ScoredQuestion], calibration: Calibration) -> tuple[float, float, float]:
    inputs, right, weights = [], [], []
    for one in questions:
        for number, (passage, windows) in enumerate(zip(one.question.passages, one.passages, strict=True)):
            read = reading(passage, windows, calibration)
            for span, judged in one.judged(number, read, calibration).items():
                words = passage[span.start : span.end]
                inputs.append([log_odds(span.probability), log_odds(judged.supported)])
                right.append(bool(one.question.answers) and exact_match(words, one.question.answers) > 0)
                weights.append(1.0)
    return _logistic(np.array(inputs), np.array(right), np.array(weights))


def _logistic(inputs: Floats, so: npt.NDArray[np.bool_], weights: Floats) -> tuple[float, float, float]:
    from sklearn.linear_model import LogisticRegression

    fitted: Any = LogisticRegression(C=100.0).fit(inputs, so, sample_weight=weights)
    (first, second), intercept = fitted.coef_[0], fitted.intercept_[0]
    return float(first), float(second), float(intercept)


def _support(claims: Sequence[tuple[Claim, Scored]]) -> tuple[float, tuple[float, float, float]]:
    from scipy.optimize import minimize

    scores = np.array([windows[0][1].support for _, windows in claims], dtype=np.float64)
    verdicts = np.array([VERDICTS.index(claim.verdict) for claim, _ in claims])
    weights = 1 / np.bincount(verdicts, minlength=len(VERDICTS))[verdicts]

    def loss(parameters: Floats) -> float:
        logits = parameters[0] * scores + np.append(parameters[1:], 0.0)
        logits -= logits.max(axis=1, keepdims=True)
        sure = logits[np.arange(len(logits)), verdicts] - np.log(np.exp(logits).sum(axis=1))
        return float(-(weights * sure).sum())

    slope, supported, refuted = minimize(loss, np.array([1.0, 0.0, 0.0])).x.tolist()
    return slope, (supported, refuted, 0.0)
