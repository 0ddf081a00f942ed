"""Watch a training: its events, the performance on held-out questions, the time left, cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from queue import SimpleQueue
from typing import Final, TypeAlias, TypeVar

import numpy as np

from policy.decisions.trees import Floats, Tree
from policy.judging.calibration import choose_margin
from policy.judging.walking import default_schedule, follow, score
from policy.serving.scorers import Rule, Scorer
from policy.training.progress import HeldOut, Trained, TrainingEvent

T = TypeVar("T")
Emit: TypeAlias = Callable[[TrainingEvent], None]


def run_in_background(
    work: Callable[[Emit], T], cancel: threading.Event
) -> Generator[TrainingEvent, None, T]:
    """Run ``work`` in a thread and yield the events it reports; its result is the generator's.

    A trainer calls back, an interface iterates: this takes a thread in between. If the iteration stops,
    ``cancel`` is set and the thread joined, so that its last checkpoint is complete. Exceptions of ``work``
    are raised again.
    """
    events: SimpleQueue[TrainingEvent | None] = SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(events.put))
        except BaseException as error:  # noqa: BLE001 # raised again after the join
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


_SAMPLE_SIZE: Final = 60  # held-out questions walked during training: seconds, not minutes


class Watch:
    """The observer of a training.

    Args:
        emit: Gets the events.
        cancel: Set to stop after the current step.
        validation: Held-out questions; without any, nothing is measured on them.
        cost: Of a research step, in units of quality.
    """

    def __init__(
        self, emit: Emit, cancel: threading.Event, validation: Sequence[Tree], cost: float
    ) -> None:
        self.cancel = cancel
        self._emit = emit
        self._cost = cost
        self._sample = validation[:_SAMPLE_SIZE]
        self._default = mean(follow(self._sample, default_schedule).utility(cost))
        self._began: tuple[int, float] | None = None

    def stepped(self, step: int, steps: int, loss: float) -> None:
        """Report a finished step, with the time left by the duration of the steps so far."""
        now = time.monotonic()
        if self._began is None:  # the first step is not 1 in a resumed training
            self._began = step, now
        first, began = self._began
        left = (now - began) / (step - first) * (steps - step) if step > first else float("nan")
        self._emit(Trained(step, steps, loss, left))

    def scored(self, step: int, scorer: Scorer) -> None:
        """Report how the scorer that is being trained does on held-out questions."""
        if not self._sample:
            return
        scored = score(self._sample, scorer)
        margin = choose_margin(scored, self._sample, self._cost, errors=0.0)
        outcomes = follow(self._sample, scored.decide(Rule(margin, 1.0)))
        self._emit(HeldOut(step, mean(outcomes.utility(self._cost)), self._default, mean(outcomes.steps)))


def mean(column: Floats) -> float:
    """The mean of the known values; NaN if there are none."""
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else float("nan")
