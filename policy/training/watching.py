"""Watch a training: its events, the performance on held-out questions, the time left, cancellation."""

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


def run_in_background(
    work: Callable[[Callable[[TrainingEvent], None]], T], cancel: threading.Event
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


Score: TypeAlias = Callable[[Sequence[Seen]], Scores]


@dataclass(frozen=True, slots=True)
class Watch:
    """The observer of a training.

    Attributes:
        on_step: Called with step from 1, number of steps, loss.
        on_score: Called now and then with the step and a function that scores states; None if not needed.
        cancel: Set to stop after the current step.
    """

    on_step: Callable[[int, int, float], None] = lambda _step, _steps, _loss: None
    on_score: Callable[[int, Score], None] | None = None
    cancel: threading.Event = field(default_factory=threading.Event)

    def stepped(self, step: int, steps: int, loss: float) -> None:
        """Report a finished step of a trainer that can only be stopped by an exception.

        Raises:
            TrainingCancelled: cancelled; the training resumes from its last checkpoint.
        """
        self.on_step(step, steps, loss)
        if self.cancel.is_set() and step < steps:
            raise TrainingCancelled(
                f"Stopped after step {step} of {steps}.",
                "The same command resumes from the last checkpoint.",
            )


_SAMPLE_SIZE: Final = 60  # held-out questions walked during training: seconds, not minutes

Emit: TypeAlias = Callable[[TrainingEvent], None]


def build_watch(cost: float, validation: Sequence[Tree], emit: Emit, cancel: threading.Event) -> Watch:
    sample = list(validation)[:_SAMPLE_SIZE]
    default = mean(follow("", sample, lambda node: default_action(node.valid)).utility(cost))
    pace = _Pace()

    def on_step(step: int, steps: int, loss: float) -> None:
        emit(Trained(step, steps, loss, pace.left(step, steps)))

    def on_score(step: int, scores: Score) -> None:
        scored = score(sample, _Provisional(scores))
        rule = Rule(choose_margin(scored, cost, errors=0.0).margin, 1.0)
        walked = follow_each("", sample, scored.deciders(rule))
        emit(HeldOut(step, mean(walked.utility(cost)), default, mean(walked.steps), _brier(scored)))

    return Watch(on_step, on_score, cancel)


class _Pace:
    """Estimates the time left from the duration of the steps so far."""

    def __init__(self) -> None:
        self._began: tuple[int, float] | None = None

    def left(self, step: int, steps: int) -> float:
        """Seconds left; NaN at the first step, which is not 1 in a resumed training."""
        now = time.monotonic()
        if self._began is None:
            self._began = step, now
            return float("nan")
        first, began = self._began
        return (now - began) / max(1, step - first) * (steps - step)


class _Provisional:
    """The scorer that is being trained."""

    method = ""

    def __init__(self, scores: Score) -> None:
        self._scores = scores

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores by the current weights."""
        return self._scores(states)


def _brier(scored: Scored) -> float:
    """Mean squared error of the sufficiency, over the states for which it is known."""
    targets = np.array([node.sufficient for tree in scored.trees for node in tree.nodes.values()])
    return mean(np.square(scored.scores.sufficiency - targets))


def mean(column: Floats) -> float:
    """The mean of the known values; NaN if there are none."""
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else float("nan")
