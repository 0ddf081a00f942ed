"""Looking at held-out questions while a policy is trained, and estimating how long it still takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from policy.calibration import choose_margin
from policy.evaluation.walking import Scored, follow, follow_each, score, sufficient
from policy.rule import Rule
from policy.scorers import Scores
from policy.training.progress import HeldOut, Trained, TrainingEvent
from policy.training.watching import Score, Watch
from policy.trees import Floats, Seen, Tree, default_action

_LOOKED_AT: Final = 60  # held-out questions that are walked while training: seconds, not minutes
_PAST: Final = 0.9  # weight of the past in the running mean of the seconds that a step takes

Tell: TypeAlias = Callable[[TrainingEvent], None]


def watching(cost: float, validation: Sequence[Tree], tell: Tell, cancel: threading.Event) -> Watch:
    some = list(validation)[:_LOOKED_AT]
    default = _default(some, cost)
    pace = _Pace()

    def on_step(step: int, steps: int, loss: float) -> None:
        tell(Trained(step, steps, loss, pace.left(step, steps)))

    def on_score(step: int, scores: Score) -> None:
        seen = score(some, _Provisional(scores))
        rule = Rule(choose_margin(seen, cost, errors=0.0).margin, 1.0)
        there = follow_each("", some, seen.deciders(rule), cost)
        tell(HeldOut(step, _mean(there.utility(cost)), default, _mean(there.steps), _brier(seen)))
        pace.rest()

    return Watch(on_step, on_score, cancel)


class _Pace:
    """Estimates the time left from the time a step takes, pauses between steps left out."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._seconds: float | None = None

    def left(self, step: int, steps: int) -> float:
        """Seconds; NaN before the second step."""
        now = time.monotonic()
        if self._last is not None:
            taken = now - self._last
            before = taken if self._seconds is None else self._seconds
            self._seconds = _PAST * before + (1 - _PAST) * taken
        self._last = now
        return float("nan") if self._seconds is None else self._seconds * (steps - step)

    def rest(self) -> None:
        """A pause ends now."""
        self._last = time.monotonic()


class _Provisional:
    """A scorer that is being trained."""

    method = ""

    def __init__(self, scores: Score) -> None:
        self._scores = scores

    def score(self, states: Sequence[Seen]) -> Scores:
        """As things stand."""
        return self._scores(states)


def _brier(seen: Scored) -> float:
    """Mean squared error of the sufficiency, as it stands, over the states of which it is known."""
    so = np.array([sufficient(node) for tree in seen.trees for node in tree.nodes.values()])
    return _mean(np.square(seen.scores.sufficiency - so))


def _default(trees: Sequence[Tree], cost: float) -> float:
    return _mean(follow("", trees, lambda node: default_action(node.valid), cost).utility(cost))


def _mean(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else float("nan")
