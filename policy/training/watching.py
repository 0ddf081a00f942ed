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
            TrainingCancelled: it is to stop; it resumes from what it has saved.
        """
        self.on_step(step, steps, loss)
        if self.cancel.is_set() and step < steps:
            raise TrainingCancelled(
                f"Stopped after step {step} of {steps}.",
                "The same command resumes from the last checkpoint.",
            )


_LOOKED_AT: Final = 60  # held-out questions that are walked while training: seconds, not minutes

Tell: TypeAlias = Callable[[TrainingEvent], None]


def watching(cost: float, validation: Sequence[Tree], tell: Tell, cancel: threading.Event) -> Watch:
    some = list(validation)[:_LOOKED_AT]
    default = mean(follow("", some, lambda node: default_action(node.valid)).utility(cost))
    pace = _Pace()

    def on_step(step: int, steps: int, loss: float) -> None:
        tell(Trained(step, steps, loss, pace.left(step, steps)))

    def on_score(step: int, scores: Score) -> None:
        scored = score(some, _Provisional(scores))
        rule = Rule(choose_margin(scored, cost, errors=0.0).margin, 1.0)
        walked = follow_each("", some, scored.deciders(rule))
        tell(HeldOut(step, mean(walked.utility(cost)), default, mean(walked.steps), _brier(scored)))

    return Watch(on_step, on_score, cancel)


class _Pace:
    """Estimates the time left from the time that the steps so far took."""

    def __init__(self) -> None:
        self._began: tuple[int, float] | None = None

    def left(self, step: int, steps: int) -> float:
        """Seconds; NaN at the first step, which is not 1 where a training is resumed."""
        now = time.monotonic()
        if self._began is None:
            self._began = step, now
            return float("nan")
        first, began = self._began
        return (now - began) / max(1, step - first) * (steps - step)


class _Provisional:
    """A scorer that is being trained."""

    method = ""

    def __init__(self, scores: Score) -> None:
        self._scores = scores

    def score(self, states: Sequence[Seen]) -> Scores:
        """The present scores."""
        return self._scores(states)


def _brier(scored: Scored) -> float:
    """Mean squared error of the sufficiency, over the states of which it is known."""
    so = np.array([node.sufficient for tree in scored.trees for node in tree.nodes.values()])
    return mean(np.square(scored.scores.sufficiency - so))


def mean(column: Floats) -> float:
    """The mean of what is known, NaN if nothing is."""
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else float("nan")
