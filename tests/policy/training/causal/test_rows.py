"""What the trainers are given: letters and pairs, weighed by what is at stake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from agent.state import ACTIONS, Action
from policy.decisions.returns import Examples
from policy.decisions.trees import Seen
from policy.training.causal import rows

NAN = float("nan")


def made(*states: tuple[Sequence[Action], list[float]]) -> Examples:
    """Examples with these valid actions and returns; the text says which one it is."""
    values = np.array([returns for _, returns in states])
    return Examples(
        [Seen(f"state {n}", {}, tuple(valid)) for n, (valid, _) in enumerate(states)],
        ["q"] * len(states),
        ["d"] * len(states),
        values,
        values - values[:, :1],
        np.zeros(len(states)),
        np.ones(len(states)),
    )


def test_the_best_action_is_the_letter() -> None:
    chosen = rows.choices(made((ACTIONS, [0.2, 0.3, 0.9]), (ACTIONS, [0.6, 0.1, 0.3])), seed=0)
    assert dict(rows.letters(chosen)) == {"state 0": "FINISH", "state 1": "CONTINUE"}


def test_an_action_that_is_hardly_better_than_the_default_one_is_not_preferred() -> None:
    [choice] = rows.choices(made((ACTIONS, [0.80, 0.81, 0.20])), seed=0)
    assert choice.ranked == ("CONTINUE", "REVISE", "FINISH")
    assert {worse for _, _, worse in rows.pairs([choice] * 20, seed=0)} == {"FINISH"}


def test_states_in_which_nothing_is_at_stake_are_left_out() -> None:
    alike = (ACTIONS, [0.50, 0.51, 0.50])
    alone: tuple[list[Action], list[float]] = (["FINISH"], [NAN, NAN, 0.9])
    unknown = (ACTIONS, [NAN, NAN, 0.9])
    invalid: tuple[list[Action], list[float]] = (["FINISH"], [0.1, 0.2, 0.9])
    assert rows.choices(made(alike, alone, unknown, invalid), seed=0) == []


def test_the_more_is_at_stake_the_likelier_a_state_is_drawn_and_none_is_drawn_twice() -> None:
    examples = made((ACTIONS, [0.9, 0.0, 0.0]), (ACTIONS, [0.1, 0.0, 0.0]))
    drawn = Counter(rows.choices(examples, seed, most=1)[0].text for seed in range(500))
    assert drawn["state 0"] / 500 == pytest.approx(0.9, abs=0.05)
    assert len({choice.text for choice in rows.choices(examples, seed=0, most=5)}) == 2


def test_the_same_seed_draws_the_same() -> None:
    examples = made(*((ACTIONS, [n / 30, 0.0, 0.5]) for n in range(30)))
    one, same, other = (rows.letters(rows.choices(examples, seed, 9)) for seed in (1, 1, 2))
    assert one == same != other
