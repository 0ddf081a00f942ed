"""A training in a thread, and what is known of it from its events."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from policy.training import progress as told
from tui.app.work import Batch, Failed, failed, in_background

if TYPE_CHECKING:
    from policy.serving.manifest import Method
    from policy.training.progress import TrainingEvent

PHASES = ("data", "train", "calibrate", "evaluate", "gate", "write")
"""In the order in which they come."""


class TrainingFold:
    """One training.

    Attributes:
        phase: The one under way, of `PHASES`; "" before the first.
        message: What it says of itself.
        sheet: What is learned from, by name.
        step: Optimiser steps done in this go.
        steps: Of how many; 0 until it is known.
        seconds_left: Estimate; NaN where there is none.
        losses: Step and training loss; none where the method has no loss.
        held_out: Looks at the held-out questions, in order.
        warnings: What a person should know.
        verdict: The gate's, once it was asked.
        finished: The policy, once it is written.
    """

    def __init__(self) -> None:
        self.phase = ""
        self.message = ""
        self.sheet: Mapping[str, str] = {}
        self.step = 0
        self.steps = 0
        self.seconds_left = math.nan
        self.losses: list[tuple[int, float]] = []
        self.held_out: list[told.HeldOut] = []
        self.warnings: list[str] = []
        self.verdict: told.Verdict | None = None
        self.finished: told.Finished | None = None

    def take(self, events: Iterable[told.TrainingEvent]) -> None:
        """Add what has happened."""
        for event in events:
            self._take(event)

    @property
    def share(self) -> float:
        """Of the steps, those that are done; 0 while their number is not known."""
        return self.step / self.steps if self.steps else 0.0

    def _take(self, event: told.TrainingEvent) -> None:
        match event:
            case told.Began(phase, message):
                self.phase, self.message = phase, message
            case told.DataSheet(rows):
                self.sheet = rows
            case told.Trained():
                self.step, self.steps, self.seconds_left = event.step, event.steps, event.seconds_left
                if math.isfinite(event.loss):
                    self.losses.append((event.step, event.loss))
            case told.HeldOut():
                self.held_out.append(event)
            case told.Warned(message):
                self.warnings.append(message)
            case told.Verdict():
                self.verdict = event
            case told.Finished():
                self.finished = event


_MOMENT = 2.0  # seconds; a step of most methods ends within


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants trained.

    Attributes:
        method: As `policy.serving.manifest.Method`.
        sources: Collected stores; none for the person's own runs.
        learned_from: The same in a few words.
    """

    method: Method
    sources: tuple[Path, ...]
    learned_from: str


@dataclass
class TrainingTold(Message):
    """Events have come; the widget that shows the training drains them."""

    job: TrainingJob


@dataclass
class TrainingEnded(Message):
    """The training's thread has ended; ``failure`` is what it raised, being stopped included."""

    job: TrainingJob
    failure: Failed | None


class TrainingJob:
    """One training.

    Args:
        wish: What is trained.

    Attributes:
        cancel: Set to stop after the step under way; the same wish goes on from there.
    """

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.cancel = threading.Event()
        self._events: Batch[TrainingEvent] = Batch(lambda: TrainingTold(self))
        self._ended = threading.Event()

    def start(self, shown_by: Widget) -> None:
        """Begin; `TrainingTold` and at last `TrainingEnded` are posted to ``shown_by``."""
        self._events.goes_to(shown_by)
        in_background(shown_by, self._work, group="training")

    def leave(self) -> None:
        """Stop it because the app ends, and wait a moment; the same training can be resumed."""
        self.cancel.set()
        self._ended.wait(_MOMENT)

    def drain(self) -> list[TrainingEvent]:
        """The events since the last time."""
        return self._events.drain()

    def _work(self) -> Message:
        failure: Failed | None = None
        try:
            from policy.training.course import train
            from policy.training.request import TrainingRequest

            request = TrainingRequest(method=self.wish.method, sources=self.wish.sources)
            with closing(train(request, self.cancel)) as events:
                for event in events:
                    self._events.put(event)
        except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
            failure = failed(error)
        self._ended.set()
        return TrainingEnded(self, failure)
