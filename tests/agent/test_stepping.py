"""A research step as a plain function does what the graph does, and a state is encoded the same in both."""

from __future__ import annotations

from agent.budget import Budget
from agent.decisions.decider import PolicyState, policy_state, valid_actions
from agent.decisions.features import features, state_text
from agent.decisions.sources import Rules
from agent.deps import Deps
from agent.graph import begun, planned_step, updated
from agent.profiles import profile
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.steering import Steering
from tests.agent.conftest import Ask, UnsureReader
from tests.agent.made import FIRST, QUESTION, TWO_STEPS
from tests.scripted import HashEmbedder, Scripted, ScriptedChat
from traces.library import Library
from traces.runs import Runs
from traces.store import Store

REPLIES: list[Scripted] = [TWO_STEPS, FIRST]


def _deps(chat: ScriptedChat, budget: Budget, library: Library, embedder: HashEmbedder) -> Deps:
    session = Session(chat, budget, lambda _event: None, Steering())
    cognition = profile("lean", UnsureReader())
    return Deps(
        session=session,
        cognition=cognition,
        decider=Rules(),
        library=library,
        recall=Recall(library, embedder),
        reader=UnsureReader(),
        collections=tuple(library.require_collections(())),
    )


def test_the_graph_and_the_plain_function_come_to_the_same_states(
    ask: Ask, library: Library, store: Store, embedder: HashEmbedder
) -> None:
    budget = Budget(revisions=0)
    ask([*REPLIES, "Tolvang Ceramics supplies the bearings [1]."], budget=budget)
    stored = Runs(store).decisions(Runs(store).find("last").id)
    assert [d.action for d in stored] == ["CONTINUE", "FINISH"]
    assert [d.path for d in stored] == ["", "C"]

    stepped: list[PolicyState] = []
    with ScriptedChat(REPLIES) as chat:
        deps = _deps(chat, budget, library, embedder)
        state = begun(QUESTION, deps)
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
