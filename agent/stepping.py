"""Research without the graph: the same nodes in the same order, as plain functions.

A run needs checkpoints, threads and events; collecting thousands of states does not. A test checks that
both give the same states.
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
    """The state of a deep run after its first look, before a plan."""
    state = new_state(question)
    state = updated(state, route(state, replace(deps, route="deep")))
    return updated(state, look(state, deps))


def planned_step(state: RunState, deps: Deps) -> tuple[RunState, str]:
    """A research step, after a plan or revision if the last action requires one, as at the beginning.

    Returns:
        The state after the step, and "". If the budget is exhausted, the last complete state and the name
        of what is used up.
    """
    try:
        if state["action"] != "CONTINUE":
            state = updated(state, plan(state, deps))
        return research_step(state, deps), ""
    except BudgetExhausted as exhausted:
        return state, str(exhausted)


def finish(state: RunState, deps: Deps) -> RunState:
    """The state with the checked answer, if the run finishes here."""
    state = updated(state, synthesise(state, deps))
    return updated(state, verify(state, deps))


def research_step(state: RunState, deps: Deps) -> RunState:
    """The state after the plan's next step; ``state`` is not changed.

    If the plan has no next step, only the step's own fields change, as in the graph.
    """
    state = updated(state, next_step(state, deps))
    if not state["query"]:
        return state
    while True:
        results = [recalled for s in state["searches"] for recalled in retrieve(s, deps)["recalled"]]
        state = updated(state, {"recalled": [*state["recalled"], *results]})
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
    """The state with a node's update."""
    return cast(RunState, {**state, **update})
