"""A research step as a plain function does what the graph does, and a state is encoded the same in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.decisions.decider import PolicyState, policy_state, valid_actions
from agent.decisions.features import features, state_text
from agent.graph import begun, planned_step
from agent.state import Action, updated
from agent.steering import Steering
from models.protocols import Message
from tests.agent.conftest import Ask, UnsureReader
from tests.agent.made import FIRST, QUESTION, TWO_STEPS, answered, only, put
from tests.agent.steps.conftest import Make
from tests.scripted import Scripted, WordReader
from traces.library import Library
from traces.runs import Runs
from traces.store import Store

REPLIES: list[Scripted] = [TWO_STEPS, FIRST]
SEARCHED = "Which depot keeps spare turbines?"
DEPOTS = [f"Depot {n} keeps spare turbines under cover." for n in range(30)]
HIDDEN = "Spare parts lie under cover at Vexholm."
"""Passages with all the words of `SEARCHED`, more than are read, and one with few of them."""


def read_depots(library: Library) -> WordReader:
    """A reader that knows an answer to `SEARCHED` in the hidden passage alone."""
    put(library, "depots", DEPOTS)
    put(library, "stores", [HIDDEN])
    return WordReader({SEARCHED: ("Vexholm", 0.95)})


def test_graph_and_plain_function_come_to_the_same_states(ask: Ask, make: Make, store: Store) -> None:
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


def _text(messages: Sequence[Message]) -> str:
    return messages[-1].content


def _depot(messages: Sequence[Message]) -> str:
    """The first depot in the passages."""
    text = _text(messages)
    return text[text.index("Depot") :].partition(" keeps")[0]


@pytest.mark.parametrize(
    ("action", "replies", "found"), [("MORE", [], "Vexholm"), ("WORDS", [], ""), ("ASK", [_depot], "Depot")]
)
def test_a_further_try_replaces_what_the_step_found_and_the_answer_uses_it(
    ask: Ask,
    make: Make,
    library: Library,
    store: Store,
    action: Action,
    replies: list[Scripted],
    found: str,
) -> None:
    reader, steering, budget = read_depots(library), Steering(), Budget(revisions=0)
    plan: Scripted = {"steps": [SEARCHED]}

    def write(messages: Sequence[Message]) -> str:
        assert found in _text(messages)
        return f"{found or 'Depot 1'} keeps spare turbines."

    events = ask(
        [plan, *replies, write],
        question=SEARCHED,
        do=lambda event: steering.override(action) if isinstance(event, ev.StepStarted) else None,
        budget=budget,
        reader=reader,
        steering=steering,
    )
    first, second = only(events, ev.Noted)
    assert (first.note["step"], first.note["found"]) == (1, False)
    assert (second.note["step"], second.note["found"]) == (1, bool(found))
    assert found in second.note["answer"]
    assert len(only(events, ev.StepStarted)) == 1
    assert len(only(events, ev.Searched)) == 1 + (action != "ASK")
    assert len(only(events, ev.Corrected)) == (action == "WORDS")
    assert found in answered(events).answer
    assert any(found in source["text"] for source in answered(events).sources)
    stored = [d for d in Runs(store).decisions(Runs(store).find("last").id) if not d.shadow]
    assert [(d.action, d.source, d.path) for d in stored] == [
        (action, "human", ""),
        ("FINISH", "rules", action[0]),
    ]
    assert stored[0].valid_actions == ("FINISH", "MORE", "WORDS", "ASK")
    assert action not in stored[1].valid_actions
    assert stored[1].state["barren"] == 0, "one step is not two"

    # Training takes the same steps.
    deps = make([plan, *replies], budget=budget, reader=reader)
    state = begun(SEARCHED, replace(deps, route="deep"))
    for made, last in zip(stored, ("", action), strict=True):
        state, _stopped = planned_step(updated(state, {"action": last}), deps)
        seen = policy_state(state, budget, deps.session.ledger.tokens_left)
        assert (seen.to_json(), valid_actions(seen)) == (dict(made.state), made.valid_actions)
