"""Watch a training: its events, a look at held-out questions, the time left, and how to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Final, TypeAlias, TypeVar

import numpy as np

from policy.decisions.trees import Floats, Seen, Tree, default_action
from policy.judging.calibration import choose_margin
from policy.judging.walking import Scored, follow, follow_each, score
from policy.serving.scorers import Rule, Scores
from policy.training.errors import TrainingCancelled
from policy.training.progress import HeldOut, Trained, TrainingEvent

T = TypeVar("T")


def telling(
    work: Callable[[Callable[[TrainingEvent], None]], T], cancel: threading.Event
) -> Generator[TrainingEvent, None, T]:
    """Run ``work`` in a thread and yield the events it reports; its result is the generator's.

    A trainer calls back, an interface iterates: between the two there has to be a thread. If the iteration
    stops, ``cancel`` is set and the work is waited for, so that its last checkpoint is whole. Whatever
    ``work`` raises is raised.
    """
    events: SimpleQueue[TrainingEvent | None] = SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(events.put))
        except BaseException as error:  # noqa: BLE001 # raised again where it is waited for
            errors.append(error)
        finally:
            events.put(None)

    thread = threading.Thread(target=run, name="training", daemon=True)
    thread.start()
    try:
        while (event := events.get()) is not None:
            yield event
    finally:
        if thread.is_alive() and not (results or errors):
            cancel.set()
        thread.join()
    if errors:
        raise errors[0]
    return results[0]


Score: TypeAlias = Callable[[Sequence[Seen]], Scores]


@dataclass(frozen=True, slots=True)
class Watch:
    """Who watches a training.

    Attributes:
        on_step: Called with step from 1, steps in all, loss.
        on_score: Called now and then with the step and a function that scores states; None if nobody looks.
        cancel: Set to stop after the current step.
    """

    on_step: Callable[[int, int, float], None] = lambda _step, _steps, _loss: None
    on_score: Callable[[int, Score], None] | None = None
    cancel: threading.Event = field(default_factory=threading.Event)

    def stepped(self, step: int, steps: int, loss: float) -> None:
        """A step is done, in a trainer that cannot be asked to stop but can be made to.

        Raises:
            TrainingCancelled: it is to stop; what it has saved it goes on from.
        """
        self.on_step(step, steps, loss)
        if self.cancel.is_set() and step < steps:
            raise TrainingCancelled(
                f"Stopped after step {step} of {steps}.",
                "The same command goes on from the last checkpoint.",
            )


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
        there = follow_each("", some, seen.deciders(rule))
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
    so = np.array([node.sufficient for tree in seen.trees for node in tree.nodes.values()])
    return _mean(np.square(seen.scores.sufficiency - so))


def _default(trees: Sequence[Tree], cost: float) -> float:
    return _mean(follow("", trees, lambda node: default_action(node.valid)).utility(cost))


def _mean(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else float("nan")
