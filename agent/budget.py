"""Budgets: what a run may spend, and the clock and ledger that hold it to that."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import NoReturn

from agent.steering import Steering
from models.protocols import GenerationCancelled, Usage


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run may spend.

    Attributes:
        steps: Research steps, over all revisions of the plan.
        revisions: Times the plan may be revised.
        tokens: Tokens the model computes: prompt tokens evaluated and tokens generated.
        seconds: Wall-clock seconds until the last model call must end.
        barren: Steps in a row without new evidence after which the run stops looking.
    """

    steps: int = 6
    revisions: int = 2
    tokens: int = 40_000
    seconds: float = 900.0
    barren: int = 2


class BudgetExhausted(Exception):
    """Raised before or during a model call, or a wait for the web, that the budget has no room for.

    It ends the research, not the run: no person sees it as an error.
    """


class StepSkipped(Exception):
    """Raised by a call in a research step that a person gave up; the step ends without a finding."""


ANSWER_NOW = "asked to answer now"


class Stop(threading.Event):
    """An event that is set by a person, or by the clock when the run's seconds are used up.

    Model calls poll it, so neither a long prompt nor a long answer outlives the budget or a wish.

    Args:
        seconds: Until the clock stops the run.
        steering: The person's wheel.
    """

    def __init__(self, seconds: float, steering: Steering) -> None:
        super().__init__()
        self._ends = time.monotonic() + seconds
        self._steering = steering
        self.heeds_finish = True
        self.heeds_skip = False

    def extend(self, seconds: float) -> None:
        """Give back time that was spent waiting for a person."""
        self._ends += seconds

    @property
    def out_of_time(self) -> bool:
        """True once the clock has run out."""
        return time.monotonic() >= self._ends

    @property
    def cancelled(self) -> bool:
        """True once a person has asked to stop."""
        return super().is_set() or self._steering.cancelled.is_set()

    @property
    def finishing(self) -> bool:
        """True once a person wants the answer, while something else than the answer is under way."""
        return self.heeds_finish and self._steering.finishing

    @property
    def skipping(self) -> bool:
        """True once a person gave up the research step, while it is under way."""
        return self.heeds_skip and self._steering.skipping

    def is_set(self) -> bool:
        """True if a person or the clock wants the model call under way to end."""
        return self.cancelled or self.out_of_time or self.finishing or self.skipping

    def tell_apart(self, stopped: GenerationCancelled) -> NoReturn:
        """Raise what ``stopped``, which this event brought about, means for the run.

        Raises:
            GenerationCancelled: a person stopped the run.
            StepSkipped: a person gave up the research step.
            BudgetExhausted: a person wants the answer, or the clock has run out.
        """
        if self.cancelled:
            raise stopped
        if self.skipping:
            raise StepSkipped from stopped
        raise BudgetExhausted(ANSWER_NOW if self.finishing else "time budget") from stopped


class Ledger:
    """Counts model calls and their tokens against the budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.calls = 0
        self.usage = Usage()

    def add(self, usage: Usage) -> None:
        """Book one finished call."""
        self.calls += 1
        self.usage += usage

    @property
    def tokens_left(self) -> int:
        """Tokens that may still be computed."""
        return max(0, self.budget.tokens - self.usage.evaluated - self.usage.generated)
