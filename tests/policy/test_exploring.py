"""Exploration: the probabilities that are written down are those of what is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from agent.cognition.deciding import Rules
from agent.decisions import Decision, PolicyState, certain
from agent.state import ACTIONS, Action
from policy.exploring import Exploring
from tests.policy.made import state

ALL: tuple[Action, ...] = ACTIONS


def test_without_epsilon_nothing_is_tried_out() -> None:
    alone, exploring = Rules(), Exploring(Rules(), 0.0, seed=1)
    assert exploring.name == "rules"
    for _ in range(20):
        decision = exploring.decide(state(), ALL)
        assert (decision.action, decision.behaviour_probability) == ("CONTINUE", 1.0)
        assert decision.justification == alone.decide(state(), ALL).justification


@pytest.mark.parametrize("valid", [ALL, ("CONTINUE", "FINISH"), ("CONTINUE",)])
def test_the_probability_is_that_of_what_is_done(valid: tuple[Action, ...]) -> None:
    exploring = Exploring(Rules(), 0.3, seed=2)
    for _ in range(200):
        decision = exploring.decide(state(), valid)
        expected = 0.3 / len(valid) + (0.7 if decision.action == "CONTINUE" else 0.0)
        assert decision.behaviour_probability == pytest.approx(expected)
        assert decision.source == "rules"
        assert decision.justification.startswith("tried out instead of CONTINUE") == (
            decision.action != "CONTINUE"
        )


def test_actions_come_as_often_as_was_written_down() -> None:
    exploring = Exploring(Rules(), 0.3, seed=3)
    counted: Counter[Action] = Counter(exploring.decide(state(), ALL).action for _ in range(20_000))
    expected: dict[Action, float] = {"CONTINUE": 0.8, "REVISE": 0.1, "FINISH": 0.1}
    for action, probability in expected.items():
        assert counted[action] / 20_000 == pytest.approx(probability, abs=0.01)


def test_the_same_seed_tries_the_same() -> None:
    def actions(seed: int) -> list[Action]:
        exploring = Exploring(Rules(), 0.5, seed)
        return [exploring.decide(state(), ALL).action for _ in range(50)]

    assert actions(4) == actions(4) != actions(5)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_epsilon_is_a_probability(epsilon: float) -> None:
    with pytest.raises(ValueError, match="no probability"):
        Exploring(Rules(), epsilon, seed=0)


def test_one_that_explores_by_itself_is_refused() -> None:
    class Coin:
        name = "coin"

        def decide(self, _state: PolicyState, valid: Sequence[Action]) -> Decision:
            return Decision("FINISH", certain("FINISH"), "coin", 0.0, behaviour_probability=0.5)

    with pytest.raises(ValueError, match="already explores"):
        Exploring(Coin(), 0.1, seed=0).decide(state(), ALL)
