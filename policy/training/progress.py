"""What a training reports, for a terminal, a screen or a test: its events and errors, and how they are
observed: held-out questions are walked, the time left is estimated, and cancelling stops it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from policy.decisions import Floats, Tree
from policy.judging import choose_margin, default_schedule, follow, score
from policy.serving.folder import Gate
from policy.serving.scorers import Rule, Scorer
from traces.errors import DeepthinkError


@dataclass(frozen=True, slots=True)
class Began:
    """A phase begins: ``data``, ``train``, ``calibrate``, ``gate``, ``write``."""

    phase: str
    message: str


@dataclass(frozen=True, slots=True)
class DataSheet:
    """The training data, before training begins: names and figures to print, in order."""

    rows: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Trained:
    """One optimiser step of ``steps``, from 1; ``seconds_left`` is NaN while it is unknown."""

    step: int
    steps: int
    loss: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The performance on held-out questions at a step; 0 is before training."""

    step: int
    utility: float  # mean quality less the cost of the steps taken
    default: float  # the default schedule's utility
    steps: float  # mean research steps


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know."""

    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The training is finished: name and folder of the policy, and whether it became active."""

    name: str
    folder: Path
    active: bool


TrainingEvent: TypeAlias = Began | DataSheet | Trained | HeldOut | Warned | Gate | Finished
"""A `Gate` is the gate's verdict on the new policy."""


class CannotTrain(DeepthinkError, title="Not enough to learn from yet", kind="input"):
    """Raised when the data to learn from, or the base model, is insufficient or invalid."""


class UnusedOption(DeepthinkError, title="Not an option of this method", kind="usage"):
    """Raised when an option is given that the method does not use."""


class TrainingFailed(DeepthinkError, title="The training broke off", kind="internal"):
    """Raised when a training failed: the loss is not a number, or the disk is full."""


class TrainingCancelled(DeepthinkError, title="Cancelled", kind="cancelled"):
    """Raised when the user stopped the training; what has checkpoints can be resumed."""


Emit: TypeAlias = Callable[[TrainingEvent], None]


def begin_phase(
    emit: Emit, cancel: threading.Event, what: str, phase: str, message: str, *, resumes: bool = True
) -> None:
    """Report that a phase begins on the way to ``what``, whose training ``resumes`` after a stop.

    Raises `TrainingCancelled` if it was stopped.
    """
    if cancel.is_set():
        way_out = "The same command resumes it." if resumes else "The same command starts it again."
        raise TrainingCancelled(f"Stopped before the {what} was written.", way_out)
    emit(Began(phase, message))


_SAMPLE_SIZE: Final = 60  # held-out questions walked during training: seconds, not minutes


class Watch:
    """The observer of a training: ``emit`` gets the events, ``cancel`` stops it after the current step.

    Without held-out questions in ``validation`` nothing is measured on them.
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
