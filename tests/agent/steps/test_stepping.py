"""A research step as a plain function does what the graph does, and a state is encoded the same in both."""

from __future__ import annotations

from dataclasses import replace

from agent.budget import Budget
from agent.decisions.decider import PolicyState, policy_state, valid_actions
from agent.decisions.features import features, state_text
from agent.graph import begun, planned_step
from agent.state import updated
from tests.agent.conftest import Ask, UnsureReader
from tests.agent.made import FIRST, QUESTION, TWO_STEPS
from tests.agent.steps.conftest import Make
from tests.scripted import Scripted
from traces.runs import Runs
from traces.store import Store

REPLIES: list[Scripted] = [TWO_STEPS, FIRST]


def test_the_graph_and_the_plain_function_come_to_the_same_states(
    ask: Ask, make: Make, store: Store
) -> None:
    budget = Budget(revisions=0)
    ask([*REPLIES, "Tolvang Ceramics supplies the bearings [1]."], budget=budget)
    stored = Runs(store).decisions(Runs(store).find("last").id)
    assert [(d.action, d.path) for d in stored] == [("CONTINUE", ""), ("FINISH", "C")]

    stepped: list[PolicyState] = []
    deps = make(REPLIES, budget=budget, reader=UnsureReader())
    state = begun(QUESTION, replace(deps, route="deep"))
    for action in ("CONTINUE", "FINISH"):
        state, stopped = planned_step(state, deps)
        assert stopped == ""
        stepped.append(policy_state(state, budget, deps.session.ledger.tokens_left))
        state = updated(state, {"action": action})
    assert [s.to_json() for s in stepped] == [dict(d.state) for d in stored]
    assert [valid_actions(s) for s in stepped] == [d.valid_actions for d in stored]
    for decision in stored:  # training encodes a state as it was stored
        seen = PolicyState(**decision.state)
        assert (state_text(seen), features(seen)) == (decision.text, decision.features)
