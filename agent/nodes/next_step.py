"""Node ``next_step``: moves to the plan's next step, resolves its references, rewrites it to a query."""

from __future__ import annotations

from typing import Any

from agent.cognition.rewriting import resolve
from agent.deps import Deps
from agent.events import StepStarted
from agent.state import PlanStep, RunState


def next_step(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, notes, notebook. Writes position, step, plan, query and clears the
    step's own fields (candidates, fresh, again, strategy).

    Without this node CONTINUE would loop into ``plan``, which starts over and never gets past the
    first step. A plan whose revision brought no step leaves everything as it is.
    """
    position = state["position"] + 1
    cleared: dict[str, Any] = {"candidates": [], "fresh": [], "again": [], "strategy": "", "query": ""}
    if position >= len(state["plan"]):
        return cleared
    planned = state["plan"][position]
    question = resolve(planned["question"], state["notes"])
    step = PlanStep({**planned, "question": question})
    number = state["step"] + 1
    deps.session.emit(StepStarted(number, step))
    query = deps.cognition.rewriter.rewrite(
        deps.session, state["notebook"], planned, question, state["notes"]
    )
    plan = [*state["plan"][:position], step, *state["plan"][position + 1 :]]
    return {**cleared, "position": position, "step": number, "plan": plan, "query": query}
