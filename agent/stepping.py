"""One research step without the graph: the same nodes in the same order, as a plain function.

A run needs checkpoints, threads and events; collecting thousands of states needs none of them. That both
do the same is held by a test.
"""

from __future__ import annotations

from typing import Any, cast

from agent.deps import Deps
from agent.nodes.correct import correct
from agent.nodes.distil import distil
from agent.nodes.grade import grade
from agent.nodes.next_step import next_step
from agent.nodes.reflect import reflect
from agent.nodes.rerank import rerank
from agent.nodes.retrieve import retrieve
from agent.state import RunState


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
        if state["grade"] not in {"ambiguous", "incorrect"}:
            break
        state = updated(state, correct(state, deps))
        if not state["searches"]:
            break
    state = updated(state, distil(state, deps))
    return updated(state, reflect(state, deps))


def updated(state: RunState, update: dict[str, Any]) -> RunState:
    """The state with what a node returned."""
    return cast(RunState, {**state, **update})
