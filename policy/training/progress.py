"""The events of a training, for a terminal, a screen or a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Began:
    """A phase begins: ``data``, ``train``, ``calibrate``, ``evaluate``, ``write``, ``gate``."""

    phase: str
    message: str


@dataclass(frozen=True, slots=True)
class DataSheet:
    """The training data, before training begins: names and figures to print, in order."""

    rows: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Trained:
    """One optimiser step of ``steps``, from 1."""

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
        loss: Validation loss, NaN if there is none.
    """

    step: int
    utility: float
    default: float
    steps: float
    loss: float


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know."""

    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's verdict: whether its rule holds, and why, in words."""

    passed: bool
    reason: str
    measures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finished:
    """The training is finished: name and folder of the policy, and whether it became active."""

    name: str
    folder: Path
    active: bool


TrainingEvent: TypeAlias = Began | DataSheet | Trained | HeldOut | Warned | Verdict | Finished
