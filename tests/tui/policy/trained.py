"""A stand-in for the training: it tells scripted events, waits where it is told to, and learns nothing."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from policy.serving.folder import Gate
from policy.training import progress as told
from policy.training.course import TrainingRequest

STEPS = 1200
GAIN = "utility over the default schedule"
SHEET = told.DataSheet(
    {
        "questions, 2wiki": "1,602 to learn from, 398 held out",
        "questions, musique": "2,391 to learn from, 609 held out",
        "decisions": "7,204 to learn from, 1,811 held out",
        "quality from": "evidence 8,871, answer 144",
        "cost of a step": "0.05",
        "quality of finishing": "0.31 on average",
        "REVISE is better than the default": "in 1,204 of 5,433 decisions where that is known (22%)",
    }
)
PASSED = Gate(
    passed=True,
    reason="Utility over the default schedule +0.031 [+0.018, +0.044] on 1007 held-out questions.",
    rule="It gains.",
    measures={
        "held-out questions": 1007,
        "with a known outcome": 1007,
        GAIN: [0.0312, 0.0181, 0.0442],
        "utility over the active policy box": [0.0081, -0.0021, 0.0179],
        "calibration error": 0.0312,
        "milliseconds a decision": 17.42,
    },
)
FAILED = Gate(
    passed=False,
    reason="Its utility over the default schedule, +0.004 [-0.009, +0.017], is not surely above 0; its "
    "calibration error is 0.141, and may be at most 0.1.",
    rule="It gains.",
    measures={**PASSED.measures, GAIN: [0.0041, -0.0092, 0.0171], "calibration error": 0.1411},
)


def learning(steps: int = STEPS, until: int = STEPS) -> list[told.TrainingEvent]:
    """The events of a training up to a step, with the loss and the utility that one would expect."""
    events: list[told.TrainingEvent] = [
        told.Began("data", "Reading what there is to learn from."),
        SHEET,
        told.Began("data", "Working out what each action is worth if a learned policy goes on after it."),
        told.Began("train", "Training: value."),
    ]
    for step in range(1, until + 1):
        if (step - 1) % 100 == 0:
            utility = 0.402 - 0.05 * math.exp(-step / 250) + 0.004 * math.sin(step / 90)
            events.append(told.HeldOut(step - 1, utility, 0.388, 2.31))
        falls = 0.32 + 0.5 * math.exp(-step / 260) + 0.05 * math.sin(step * 1.7)
        events.append(told.Trained(step, steps, falls, (steps - step) * 0.9))
    return events


def judged(verdict: Gate, name: str = "value-20261121-203000") -> list[told.TrainingEvent]:
    """The events of a training after its last step."""
    return [
        told.Began("calibrate", "Calibrating, and choosing the margin, on held-out questions."),
        told.Began("gate", "Asking the gate."),
        told.Began("write", "Writing the policy."),
        verdict,
        told.Finished(name, Path("policies") / name, verdict.passed),
    ]


class Trainer:
    """Takes the place of `policy.training.course.train`."""

    def __init__(
        self,
        events: Sequence[told.TrainingEvent],
        then: Sequence[told.TrainingEvent] = (),
        error: BaseException | None = None,  # raised at the end
        *,
        holds: bool = False,  # it waits before ``then`` to be let go on, or to be cancelled
    ) -> None:
        self._events, self._then, self._error = events, then, error
        self._go_on = threading.Event()
        if not holds:
            self._go_on.set()
        self.requests: list[TrainingRequest] = []
        self.cancelled = threading.Event()

    def __call__(
        self,
        request: TrainingRequest,
        emit: told.Emit,
        cancel: threading.Event,
    ) -> None:
        self.requests.append(request)
        for event in self._events:
            emit(event)
        while not self._go_on.wait(0.01):
            if cancel.is_set():
                self.cancelled.set()
                raise told.TrainingCancelled("Stopped after step 480 of 1200.", "The same command goes on.")
        for event in self._then:
            emit(event)
        if self._error is not None:
            raise self._error

    def go_on(self) -> None:
        self._go_on.set()

    def take_place(self, patch: pytest.MonkeyPatch) -> Trainer:
        """Be the trainer from now on."""
        patch.setattr("policy.training.course.train", self)
        return self
