"""Examples with something to learn: what to do is told by a word of the text and by a number."""

from __future__ import annotations

import numpy as np

from agent.state import Action
from policy.decisions import Examples, Seen, valid_columns
from tests.policy.trees import widened

WORDS = "river tower painter album senate village novel engine border dynasty".split()


def seen(text: str, valid: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH"), **numbers: float) -> Seen:
    """A state of which this much is known."""
    return Seen(text, {"held": 0.0, "top_1": 0.0, **numbers}, valid)


def examples(count: int = 48, seed: int = 0) -> Examples:
    """In half of the states FINISH is better than the default, in a quarter REVISE."""
    chance = np.random.default_rng(seed)
    worth = ((0.9, 0.8, 1.0), (0.9, 0.8, 1.0), (0.2, 0.7, 0.1), (0.8, 0.3, 0.2))
    states: list[Seen] = []
    for at in range(count):
        filler = " ".join(chance.choice(WORDS, size=int(chance.integers(3, 30))))
        word = ("complete", "complete", "lost", "open")[at % 4]
        valid: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH") if at % 5 else ("CONTINUE", "FINISH")
        numbers = {"held": float(at % 4 < 2), "top_1": float(chance.random())}
        states.append(seen(f"{word} {filler}", valid, **numbers))
    values = widened(*(worth[at % 4] for at in range(count)))
    values[~valid_columns(states)] = np.nan
    return Examples(
        states,
        [f"q{at // 4}" for at in range(count)],
        ["made"] * count,
        values,
        np.array([1.0 if at % 4 < 2 else 0.0 for at in range(count)]),
        np.ones(count),
    )
