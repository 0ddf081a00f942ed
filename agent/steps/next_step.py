"""Step ``next_step``: moves to the plan's next step and prepares its searches."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import StepStarted, Warned
from agent.state import PlanStep, RunState, Search, searched
from agent.steps.queries import resolve


def next_step(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, notes, notebook, queries. Writes position, step, plan, query,
    searches, queries and clears the step's own fields (recalled, candidates, grade, rungs, fresh, again,
    tried).

    References of the step are resolved, those to a step without an answer not in what is shown. Its
    question is phrased in several ways, which are searched in parallel. A search is not repeated: it can
    bring nothing new.

    Without this node CONTINUE would loop into ``plan``, which starts over and never gets past the
    first step. If a revision brought no step, only the step's own fields are cleared. A request to skip
    that came after the end of the last step does not apply to the next one.
    """
    if deps.steering.take_skip():
        deps.session.emit(Warned("The step had ended before it could be skipped."))
    position = state["position"] + 1
    cleared: dict[str, Any] = {
        "query": "",
        "searches": [],
        "recalled": [],
        "candidates": [],
        "grade": "",
        "rungs": [],
        "fresh": [],
        "again": [],
        "tried": [],
    }
    if position >= len(state["plan"]):
        return cleared
    plan_step = state["plan"][position]
    question = resolve(plan_step["question"], state["notes"])
    step = PlanStep({**plan_step, "question": question})
    number = state["step"] + 1
    shown = resolve(plan_step["question"], [note for note in state["notes"] if note["found"]])
    deps.session.emit(StepStarted(number, PlanStep({**plan_step, "question": shown})))
    notebook = state["notebook"]
    query = deps.cognition.rewrite(deps.session, notebook, question)
    phrasings = deps.cognition.phrase(deps.session, notebook, query)
    strategy = deps.cognition.strategise(deps.session, notebook, query)
    searches = [search_of(step, number, phrasing, strategy, "", deps) for phrasing in phrasings]
    new_searches = [search for search in searches if searched(search) not in state["queries"]]
    if not new_searches:
        deps.session.emit(Warned(f"Already searched for “{query}”; not searched again."))
    return {
        **cleared,
        "position": position,
        "step": number,
        "plan": [*state["plan"][:position], step, *state["plan"][position + 1 :]],
        "query": query,
        "searches": new_searches,
        "queries": [*state["queries"], *map(searched, new_searches)],
    }


def search_of(step: PlanStep, number: int, query: str, strategy: str, rung: str, deps: Deps) -> Search:
    """A search for ``query`` on behalf of step ``number``, whose references are resolved."""
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
