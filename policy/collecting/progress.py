"""What a collection tells while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class CollectingProgress:
    """How far a collection is.

    Attributes:
        doing: ``reading`` the paragraphs of a set, or ``collecting`` its questions.
        done: Of them.
        total: Of them.
        states: Collected so far in this go.
        seconds_left: Estimate; None before there is one.
        failed: Questions of this go that could not be collected, with why.
    """

    doing: Literal["reading", "collecting"]
    done: int
    total: int
    states: int = 0
    seconds_left: float | None = None
    failed: tuple[str, ...] = ()
