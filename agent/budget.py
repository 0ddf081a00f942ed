"""Budgets: what a run may spend, and the clock and ledger that enforce it."""

from __future__ import annotations

import threading
import time
from typing import Annotated, ClassVar, NoReturn

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from agent.steering import Steering
from models.protocols import GenerationCancelled, Usage


@dataclass(frozen=True, slots=True, config=ConfigDict(use_attribute_docstrings=True))
class Budget:
    """What one run may spend; each field is a setting, described by its docstring."""

    steps: Annotated[int, Field(ge=1, le=100)] = 6
    """Research steps, over all revisions of the plan."""

    revisions: Annotated[int, Field(ge=0, le=100)] = 2
    """Times the plan may be revised."""

    tokens: Annotated[int, Field(ge=1)] = 40_000
    """Tokens the model computes: prompt tokens evaluated and tokens generated."""

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 900.0
    """Seconds until the last model call has to end."""

    barren: ClassVar[int] = 2  # consecutive steps without new evidence after which the run stops searching


class BudgetExhausted(Exception):
    """Raised by a model call or a web search that exceeds the budget.

    It ends the research but not the run, so the user does not see an error.
    """


class StepSkipped(Exception):
    """Raised by a call within a research step that the user skipped; the step ends without a finding."""


ANSWER_NOW, OUT_OF_TIME, OUT_OF_TOKENS = "asked to answer now", "time budget", "token budget"
"""Why the research of a run ended, where neither its decider nor its plan ended it."""


class Stop(threading.Event):
    """An event set by the user, or by the clock when the run's seconds are used up.

    Model calls poll it, so that they end in time even with a long prompt or answer.
    """

    def __init__(self, seconds: float, steering: Steering) -> None:
        super().__init__()
        self._ends = time.monotonic() + seconds
        self._steering = steering
        self.heeds_finish = True
        self.heeds_skip = False

    def extend(self, seconds: float) -> None:
        """Add time that was spent waiting for the user."""
        self._ends += seconds

    @property
    def out_of_time(self) -> bool:
        """True once the time is used up."""
        return time.monotonic() >= self._ends

    @property
    def cancelled(self) -> bool:
        """True once the user has stopped the run."""
        return super().is_set() or self._steering.cancelled.is_set()

    @property
    def finishing(self) -> bool:
        """True once the user wants the answer now, unless it is already being written."""
        return self.heeds_finish and self._steering.finishing

    @property
    def skipping(self) -> bool:
        """True once the user has skipped the current research step."""
        return self.heeds_skip and self._steering.skipping

    def is_set(self) -> bool:
        """True if the user or the clock ends the current model call."""
        return self.cancelled or self.out_of_time or self.finishing or self.skipping

    def raise_reason(self, cancellation: GenerationCancelled) -> NoReturn:
        """Raise the exception for the reason why this event was set, which caused ``cancellation``.

        Raises `GenerationCancelled` if the user stopped the run, `StepSkipped` if the user skipped the
        research step, and `BudgetExhausted` if the user wants the answer, or the time is used up.
        """
        if self.cancelled:
            raise cancellation
        if self.skipping:
            raise StepSkipped from cancellation
        raise BudgetExhausted(ANSWER_NOW if self.finishing else OUT_OF_TIME) from cancellation


class Ledger:
    """Counts model calls and their tokens, and charges the budget for them."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.calls = 0
        self.usage = Usage()
        self._charged = 0  # tokens

    def add(self, usage: Usage, *, charged: bool = True) -> None:
        """Record a finished call; that of a second decider is not charged."""
        self.calls += 1
        self.usage += usage
        self._charged += (usage.evaluated + usage.generated) * charged

    @property
    def tokens_left(self) -> int:
        """Tokens that may still be computed."""
        return max(0, self.budget.tokens - self._charged)
