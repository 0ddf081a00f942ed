"""Exploration while collecting: now and then another action, its true probability written down."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from agent.decisions import Decider, Decision, PolicyState
from agent.state import Action


class Exploring:
    """ε-greedy over a decider that always takes its best.

    With probability ε an action is drawn evenly from the n valid ones, the decider's own among them. So the
    behaviour probability of each is ε/n, and 1 - ε more of the decider's own.

    Args:
        decider: Whose best is taken otherwise; its name is this one's too.
        epsilon: ε, 0 to 1.
        seed: Of the draws; the same seed on the same states draws the same.

    Raises:
        ValueError: ``epsilon`` is no probability.
    """

    def __init__(self, decider: Decider, epsilon: float, seed: int) -> None:
        if not 0 <= epsilon <= 1:
            raise ValueError(f"{epsilon} is no probability to explore with.")
        self._decider = decider
        self._epsilon = epsilon
        self._chance = random.Random(seed)

    @property
    def name(self) -> str:
        """The decider's."""
        return self._decider.name

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """The decider's decision or another one, with its true behaviour probability.

        Raises:
            ValueError: the decider explores by itself, so that nobody knows the probabilities.
        """
        best = self._decider.decide(state, valid)
        if best.behaviour_probability != 1.0:
            raise ValueError(f"{self.name} already explores.")
        explores = self._chance.random() < self._epsilon
        action = self._chance.choice(list(valid)) if explores else best.action
        probability = self._epsilon / len(valid) + (1 - self._epsilon) * (action == best.action)
        why = best.justification
        if action != best.action:
            why = f"tried out instead of {best.action}: {why}".removesuffix(": ")
        return replace(best, action=action, behaviour_probability=probability, justification=why)
