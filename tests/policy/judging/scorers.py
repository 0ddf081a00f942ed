"""Scorers for tests of the protocol: one that knows much, one that knows nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policy.decisions.trees import INDEX, Seen, default_action
from policy.serving.scorers import Scores


class Knowing:
    """Has seen through the features of random trees that three held pieces are all there is."""

    def __init__(self, method: str = "forest") -> None:
        self._method = method
        self.asked = 0

    @property
    def method(self) -> str:
        """As given."""
        return self._method

    def score(self, states: Sequence[Seen]) -> Scores:
        """FINISH is better than all else where all is held, and worse where it is not."""
        self.asked += len(states)
        advantages = np.full((len(states), 3), -np.inf)
        sufficiency = np.zeros(len(states))
        for row, state in enumerate(states):
            whole = state.features["held"] >= 3
            sufficiency[row] = 0.95 if whole else 0.05
            worth = {"CONTINUE": 0.0, "REVISE": 0.0, "FINISH": 0.4 if whole else -0.4}
            default = default_action(state.valid)
            for action in state.valid:
                advantages[row, INDEX[action]] = worth[action] - worth[default]
        return Scores(advantages, sufficiency)


class Noise:
    """A scorer that reads one random feature."""

    method = "forest"

    def score(self, states: Sequence[Seen]) -> Scores:
        """The advantage of every other action is the noise; so is, squashed, the sufficiency."""
        advantages = np.full((len(states), 3), -np.inf)
        noise = np.array([state.features["noise"] for state in states])
        for row, state in enumerate(states):
            for action in state.valid:
                advantages[row, INDEX[action]] = (
                    0.0 if action == default_action(state.valid) else noise[row]
                )
        return Scores(advantages, 1 / (1 + np.exp(-noise)))
