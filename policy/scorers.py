"""What every learned policy is to those who use it: numbers for states, whatever made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from policy.trees import Floats, Seen


@dataclass(frozen=True, slots=True)
class Scores:
    """What a policy makes of n states.

    Attributes:
        advantages: Shape (n, 3), columns as `policy.trees.INDEX`: how much better each action is than the
            default one, in units of quality for a method that learns values, in log-odds for one that
            learns preferences. The default action's own is 0; what is not valid is minus infinity.
        sufficiency: Shape (n,): calibrated probability that finishing now is good enough, that is, that
            all the evidence is held.
    """

    advantages: Floats
    sufficiency: Floats


class Scorer(Protocol):
    """A trained policy. It scores; `policy.rule.Rule` turns scores into an action."""

    @property
    def method(self) -> str:
        """``forest``, ``reward``, ``sft`` or ``dpo``."""
        ...

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``, in their order. Thread-safe."""
        ...
