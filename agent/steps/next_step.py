"""Step ``next_step``: moves to the plan's next step and lays out its searches."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import StepStarted, Warned
from agent.state import PlanStep, RunState, Search, searched
from agent.steps.queries import resolve


def next_step(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, notes, notebook, queries. Writes position, step, plan, query,
    strategy, searches, queries and clears the step's own fields (recalled, candidates, grade, rungs,
    fresh, again).

    References of the step are resolved, and its question is phrased in several ways, which are searched
    side by side. A search that was made before is not made again: it can bring nothing new.

    Without this node CONTINUE would loop into ``plan``, which starts over and never gets past the
    first step. A plan whose revision brought no step leaves everything as it is. A wish to skip that came
    after the last step's end is not the next one's.
    """
    if deps.steering.take_skip():
        deps.session.emit(Warned("The step had ended before it could be skipped."))
    position = state["position"] + 1
    cleared: dict[str, Any] = {
        "query": "",
        "strategy": "",
        "searches": [],
        "recalled": [],
        "candidates": [],
        "grade": "",
        "rungs": [],
        "fresh": [],
        "again": [],
    }
    if position >= len(state["plan"]):
        return cleared
    planned = state["plan"][position]
    question = resolve(planned["question"], state["notes"])
    step = PlanStep({**planned, "question": question})
    number = state["step"] + 1
    deps.session.emit(StepStarted(number, step))
    notebook = state["notebook"]
    query = deps.cognition.rewrite(deps.session, notebook, question)
    phrasings = deps.cognition.phraser.phrase(deps.session, notebook, query)
    chosen = deps.cognition.strategise(deps.session, notebook, query)
    searches = [search_of(step, number, phrasing, chosen.strategy, "", deps) for phrasing in phrasings]
    fresh = [search for search in searches if searched(search) not in state["queries"]]
    if not fresh:
        deps.session.emit(Warned(f"Already searched for “{query}”; not searched again."))
    return {
        **cleared,
        "position": position,
        "step": number,
        "plan": [*state["plan"][:position], step, *state["plan"][position + 1 :]],
        "query": query,
        "strategy": chosen.strategy,
        "searches": fresh,
        "queries": [*state["queries"], *map(searched, fresh)],
    }


def search_of(step: PlanStep, number: int, query: str, strategy: str, rung: str, deps: Deps) -> Search:
    """A search for ``query`` as the plan's step ``number`` has it, with references resolved."""
    return Search(
        step=number,
        query=query,
        keywords=step["keywords"],
        strategy=strategy,
        tool=step["tool"],
        section=step["section"],
        question=step["question"],
        rung=rung,
        hard=deps.cognition.hard_filters,
        collections=deps.tools,
        documents=[],
        sections=[],
    )
