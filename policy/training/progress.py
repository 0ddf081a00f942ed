"""What a training reports, for a terminal, a screen or a test: its events, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from policy.serving.manifest import Gate
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
    """The performance on held-out questions at a step; 0 is before training.

    Attributes:
        utility: Mean quality less the cost of the steps taken; ``default``: the default schedule's.
        steps: Mean research steps.
    """

    step: int
    utility: float
    default: float
    steps: float


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


class CannotTrain(DeepthinkError):
    """Raised when the data to learn from, or the base model, is insufficient or invalid."""

    title = "There is nothing to learn from yet"
    kind = "input"


class UnusedOption(DeepthinkError):
    """Raised when an option is given that the method does not use."""

    title = "Not an option of this method"
    kind = "usage"


class TrainingFailed(DeepthinkError):
    """Raised when a training failed: the loss is not a number, or the disk is full."""

    title = "The training broke off"
    kind = "internal"


class TrainingCancelled(DeepthinkError):
    """Raised when the user stopped the training; what was learned so far is kept."""

    title = "Cancelled"
    kind = "cancelled"
