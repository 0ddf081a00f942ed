"""Node ``decide``: the decider's word, the budget's, and the person's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from agent.nodes.decide import decide

import agent.events as ev
from agent.budget import ANSWER_NOW, Budget
from agent.decisions.decider import Decision, PolicyState, certain
from agent.state import Action, RunState
from tests.agent.nodes.conftest import Make, evidence, state, step


def _open(**changes: Any) -> RunState:
    return state(
        plan=[step("Who?"), step("Where?")],
        position=0,
        step=1,
        evidence=[evidence(1, "Tolvang.")],
        **changes,
    )


def _decided(events: list[ev.Event]) -> ev.Decided:
    (decided,) = [event for event in events if isinstance(event, ev.Decided)]
    return decided


def test_the_rules_work_the_plan_off(make: Make, events: list[ev.Event]) -> None:
    assert decide(_open(), make()) == {"action": "CONTINUE"}
    decided = _decided(events)
    assert (decided.source, decided.probabilities["CONTINUE"]) == ("rules", 1.0)
    assert decided.state["open_questions"] == ["Where?"]


def test_the_judge_is_asked_in_the_seed(make: Make, events: list[ev.Event]) -> None:
    deps = make([{"A": 0.2, "B": 0.1, "C": 0.7}, "It is known."], profile_name="seed")
    assert decide(_open(), deps)["action"] == "FINISH"
    assert _decided(events).justification == "It is known."


def test_a_persons_decision_goes_first_and_is_labelled_as_theirs(
    make: Make, events: list[ev.Event]
) -> None:
    deps = make()
    deps.steering.override("FINISH")
    assert decide(_open(), deps)["action"] == "FINISH"
    assert _decided(events).source == "human"


def test_a_decision_that_is_not_possible_is_not_taken(make: Make, events: list[ev.Event]) -> None:
    deps = make(budget=Budget(revisions=0))
    deps.steering.override("REVISE")
    assert decide(_open(), deps)["action"] == "CONTINUE"
    assert any(isinstance(event, ev.Warned) for event in events)


def test_an_added_step_keeps_the_run_going(make: Make, events: list[ev.Event]) -> None:
    deps = make()
    deps.steering.add("  And   when? ")
    done = state(plan=[step("Who?")], position=0, step=1, evidence=[evidence(1, "Tolvang.")])
    update = decide(done, deps)
    assert update["action"] == "CONTINUE"
    assert [s["question"] for s in update["plan"]] == ["Who?", "And when?"]
    assert any(isinstance(event, ev.Planned) and event.origin == "person" for event in events)


def test_the_budget_ends_it_and_says_so(make: Make, events: list[ev.Event]) -> None:
    update = decide(_open(barren=2), make())
    assert update == {"action": "FINISH", "stopped_because": "no new evidence in 2 steps"}
    decided = _decided(events)
    assert (decided.source, decided.valid) == ("budget", ["FINISH"])


def test_answering_now_is_a_persons_decision(make: Make, events: list[ev.Event]) -> None:
    deps = make()
    deps.steering.finish()
    assert decide(_open(), deps) == {"action": "FINISH", "stopped_because": ANSWER_NOW}
    assert _decided(events).source == "human"


class _Finisher:
    """A decider that finishes where it may."""

    name = "learned"

    def decide(self, _state: PolicyState, valid: Sequence[Action]) -> Decision:
        """FINISH, or the first that is possible."""
        action = "FINISH" if "FINISH" in valid else valid[0]
        return Decision(action, certain(action), self.name, 0.0)


def test_a_decider_cannot_finish_while_an_added_step_is_open(make: Make, events: list[ev.Event]) -> None:
    deps = make(decider=_Finisher())
    deps.steering.add("And when?")
    update = decide(_open(), deps)
    assert update["action"] == "CONTINUE"
    assert _decided(events).valid == ["CONTINUE"]
    # The plan's own step is taken first; then it is still open.
    second: Any = {**_open(), **update, "position": 1, "step": 2}
    assert decide(second, deps)["action"] == "CONTINUE"
    third: Any = {**second, "position": 2, "step": 3}
    assert decide(third, deps)["action"] == "FINISH"


@pytest.mark.parametrize("wished", ["FINISH", "REVISE"])
def test_the_person_who_added_a_step_may_decide_otherwise(
    make: Make, events: list[ev.Event], wished: Action
) -> None:
    deps = make(decider=_Finisher())
    deps.steering.add("And when?")
    deps.steering.override(wished)
    assert decide(_open(), deps)["action"] == wished
    assert wished in _decided(events).valid
