"""Who is told of a training as it goes on, and who may stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from policy.scorers import Scores
from policy.training.errors import TrainingCancelled
from policy.trees import Seen

Score: TypeAlias = Callable[[Sequence[Seen]], Scores]


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told of a training.

    Attributes:
        on_step: Step from 1, steps in all, loss.
        on_score: Called now and then with the step and what scores states as things stand; None if nobody
            wants to look.
        cancel: Set to stop after the current step.
    """

    on_step: Callable[[int, int, float], None] = lambda _step, _steps, _loss: None
    on_score: Callable[[int, Score], None] | None = None
    cancel: threading.Event = field(default_factory=threading.Event)

    def stepped(self, step: int, steps: int, loss: float) -> None:
        """A step is done, in a trainer that cannot be asked to stop but can be made to.

        Raises:
            TrainingCancelled: it is to stop; what it has saved it goes on from.
        """
        self.on_step(step, steps, loss)
        if self.cancel.is_set() and step < steps:
            raise TrainingCancelled(
                f"Stopped after step {step} of {steps}.",
                "The same command goes on from the last checkpoint.",
            )
