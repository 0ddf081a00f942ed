"""The interface of a learned policy: scores for states, and the frozen rule that picks an action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agent.state import ACTIONS, Action
from policy.decisions.trees import INDEX, Floats, Seen, default_action


@dataclass(frozen=True, slots=True)
class Scores:
    """A policy's scores of n states.

    Attributes:
        advantages: Shape (n, 3), columns as `trees.INDEX`: how much better each action is than the default,
            in quality (forest) or log-odds (reward). 0 for the default, minus infinity if not valid.
        sufficiency: Shape (n,): calibrated probability that finishing now is good enough.
    """

    advantages: Floats
    sufficiency: Floats


class Scorer(Protocol):
    """A trained policy. It scores; `policy.serving.scorers.Rule` turns scores into an action."""

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``, in their order. Thread-safe."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """The frozen part of a policy.

    Attributes:
        margin: An action other than the default is taken if its advantage exceeds this.
        temperature: Of the displayed probabilities, the softmax of advantages divided by this.
    """

    margin: float
    temperature: float

    def action(self, valid: Sequence[Action], advantages: Floats) -> Action:
        """The action for one state; ``advantages`` has shape (3,)."""
        default = default_action(valid)
        best = max(valid, key=lambda action: float(advantages[INDEX[action]]))
        return best if advantages[INDEX[best]] > self.margin else default

    def probabilities(self, valid: Sequence[Action], advantages: Floats) -> dict[Action, float]:
        """Probability of each action being the right one; 0 if it is not valid."""
        columns = [INDEX[action] for action in valid]
        margins = advantages[columns] - np.array(
            [self.margin if a != default_action(valid) else 0.0 for a in valid]
        )
        weights = np.exp((margins - margins.max()) / self.temperature)
        share = dict(zip(valid, (weights / weights.sum()).tolist(), strict=True))
        return {action: share.get(action, 0.0) for action in ACTIONS}
