"""Research without the graph: the same nodes in the same order, as plain functions.

A run needs checkpoints, threads and events; collecting thousands of states does not. A test checks that
both do the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from agent.budget import BudgetExhausted
from agent.deps import Deps
from agent.state import RunState, new_state
from agent.steps.correct import correct
from agent.steps.distil import distil
from agent.steps.grade import grade
from agent.steps.look import look
from agent.steps.next_step import next_step
from agent.steps.plan import plan
from agent.steps.reflect import reflect
from agent.steps.rerank import rerank
from agent.steps.retrieve import retrieve
from agent.steps.route import route
from agent.steps.synthesise import synthesise
from agent.steps.verify import verify


def begun(question: str, deps: Deps) -> RunState:
    """The state of a deep run in which the question itself was searched and nothing is planned yet."""
    state = new_state(question)
    state = updated(state, route(state, replace(deps, route="deep")))
    return updated(state, look(state, deps))


def planned_step(state: RunState, deps: Deps) -> tuple[RunState, str]:
    """A research step, after the plan where the last action asks for one, as at the beginning.

    Returns:
        The state after it, and what the budget ran out of on the way; "" where it did not. Then the state
        is the last that was whole.
    """
    try:
        if state["action"] != "CONTINUE":
            state = updated(state, plan(state, deps))
        return research_step(state, deps), ""
    except BudgetExhausted as ended:
        return state, str(ended)


def finish(state: RunState, deps: Deps) -> RunState:
    """The state with the checked answer that finishing here gives."""
    state = updated(state, synthesise(state, deps))
    return updated(state, verify(state, deps))


def research_step(state: RunState, deps: Deps) -> RunState:
    """The state after the plan's next step; ``state`` itself stays as it is.

    A plan without a next step leaves everything but the step's own fields as it is, as in the graph.
    """
    state = updated(state, next_step(state, deps))
    if not state["query"]:
        return state
    while True:
        found = [recalled for s in state["searches"] for recalled in retrieve(s, deps)["recalled"]]
        state = updated(state, {"recalled": [*state["recalled"], *found]})
        state = updated(state, rerank(state, deps))
        state = updated(state, grade(state, deps))
        if state["grade"] != "incorrect":
            break
        state = updated(state, correct(state, deps))
        if not state["searches"]:
            break
    state = updated(state, distil(state, deps))
    return updated(state, reflect(state, deps))


def updated(state: RunState, update: dict[str, Any]) -> RunState:
    """The state with what a node returned."""
    return cast(RunState, {**state, **update})
