"""Node ``plan``: makes the plan, or after REVISE makes what is left of it anew."""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.deps import Deps
from agent.events import NotebookGrew, Planned, Warned
from agent.state import RunState, still_missing


def plan(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, plan, position, notes, notebook, action, revisions, approval, claims.

    Writes plan, revisions, notebook. Finished steps keep their place in the plan, so that ``#n`` keeps
    its meaning; what is known stays known.
    """
    if state["action"] == "REVISE":
        return _revise(state, deps)
    return _first(state, deps)


def _first(state: RunState, deps: Deps) -> dict[str, Any]:
    before = state["notebook"] or [notebook.opening(state["question"], deps.described)]
    made = deps.cognition.planner.plan(deps.session, before, state["question"], deps.tools)
    steps = made.steps[: deps.session.ledger.budget.steps]
    deps.session.emit(Planned(steps, 0, made.origin))
    if made.origin == "default":
        deps.session.emit(
            Warned("The model gave no usable plan; the whole question is searched as one step.")
        )
    if len(steps) == 1 and not state["settled"] and deps.cognition.instant:
        return {"plan": steps, "notebook": before, "route": "single"}
    entry = notebook.plan_entry(steps, 1, 0)
    deps.session.emit(NotebookGrew(entry))
    return {"plan": steps, "notebook": [*before, entry]}


def _revise(state: RunState, deps: Deps) -> dict[str, Any]:
    budget = deps.session.ledger.budget
    done = state["plan"][: state["position"] + 1]
    rest = state["plan"][state["position"] + 1 :]
    missing = [note["question"] for note in still_missing(state["notes"])]
    missing += [step["question"] for step in rest]
    if state["approval"] == "search":
        missing += [claim["text"] for claim in state["claims"] if claim["verdict"] != "supported"]
    made = deps.cognition.planner.revise(
        deps.session,
        state["notebook"],
        missing or [state["question"]],
        deps.tools,
        min(2 + len(rest), budget.steps - state["step"]),
    )
    revision = state["revisions"] + 1
    steps = [*done, *made.steps]
    deps.session.emit(Planned(steps, revision, made.origin))
    if not made.steps:
        return {"plan": done, "revisions": revision}
    entry = notebook.plan_entry(made.steps, len(done) + 1, revision)
    deps.session.emit(NotebookGrew(entry))
    return {"plan": steps, "revisions": revision, "notebook": [*state["notebook"], entry]}
