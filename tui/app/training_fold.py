"""What is known of a training while it goes on: a fold over its events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from policy.training import progress as told

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
