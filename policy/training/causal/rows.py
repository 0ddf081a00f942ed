"""From examples to what each trainer reads: letters, and pairs of letters.

What a wrong letter costs differs by state: often nothing, sometimes the answer. A class label forgets that
(labels of "enough or not" made a policy worse than none, in arXiv 2510.14337), so states are drawn by what
is at stake in them: a loss over the drawn ones is then a loss in units of return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agent.state import ACTIONS, Action
from policy.decisions.returns import Examples
from policy.decisions.trees import INDEX, Floats, default_action

LEAST_GAP: Final = 0.02
"""Of two actions' returns, below which neither is held to be better: less than half a step's usual cost."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A state, its actions from best to worst, and their returns.

    Attributes:
        text: Of the state.
        ranked: The actions whose return is known, best first; the default action before one that is
            better by less than `LEAST_GAP`.
        returns: Of each action; NaN where it is not known.
        stake: What the best action gains over the others' mean, times the state's weight.
    """

    text: str
    ranked: tuple[Action, ...]
    returns: Floats
    stake: float

    def gap(self, better: Action, worse: Action) -> float:
        """By how much one action is better than another."""
        return float(self.returns[INDEX[better]] - self.returns[INDEX[worse]])


def choices(examples: Examples, seed: int, most: int | None = None) -> list[Choice]:
    """The states in which it matters what is done, in a random order, those with most at stake drawn first.

    Args:
        examples: With the returns of each action.
        seed: Of the order.
        most: How many; all by default.
    """
    found = [_choice(examples, i) for i in range(len(examples))]
    held = [choice for choice in found if choice.stake > 0]
    draw = np.random.default_rng(seed)
    # Efraimidis and Spirakis' keys, as logarithms: weighted sampling without replacement.
    keys = np.log(1.0 - draw.random(len(held))) / np.array([choice.stake for choice in held])
    drawn = [held[i] for i in np.argsort(-keys, kind="stable")[:most]]
    return [drawn[i] for i in draw.permutation(len(drawn))]


def letters(chosen: Sequence[Choice]) -> list[tuple[str, Action]]:
    """For supervised fine-tuning: each state's text with its best action."""
    return [(choice.text, choice.ranked[0]) for choice in chosen]


def pairs(chosen: Sequence[Choice], seed: int) -> list[tuple[str, Action, Action]]:
    """For preferences: each state's text with its best action and a worse one.

    Args:
        chosen: In their order.
        seed: Of which worse action is taken, the likelier the more it loses.
    """
    draw = np.random.default_rng(seed)
    made: list[tuple[str, Action, Action]] = []
    for choice in chosen:
        best = choice.ranked[0]
        losses = np.array([choice.gap(best, worse) for worse in choice.ranked[1:]])
        weights = np.where(losses >= LEAST_GAP, losses, 0.0)
        made.append(
            (choice.text, best, choice.ranked[1 + draw.choice(len(losses), p=weights / weights.sum())])
        )
    return made


def _choice(examples: Examples, row: int) -> Choice:
    state, values = examples.states[row], examples.values[row]
    returns = np.full(len(ACTIONS), np.nan)
    for action in state.valid:
        returns[INDEX[action]] = values[INDEX[action]]
    default = default_action(state.valid)

    def rank(action: Action) -> float:
        return float(returns[INDEX[action]]) + (LEAST_GAP if action == default else 0.0)

    ranked = tuple(
        sorted((a for a in state.valid if np.isfinite(returns[INDEX[a]])), key=rank, reverse=True)
    )
    others = [float(returns[INDEX[a]]) for a in ranked[1:]]
    gap = float(returns[INDEX[ranked[0]]]) - sum(others) / len(others) if others else 0.0
    stake = gap * float(examples.weights[row]) if gap >= LEAST_GAP else 0.0
    return Choice(state.text, ranked, returns, stake)
