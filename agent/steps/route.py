"""Step ``route``: what a question needs first: no documents, a question back, one look-up, or several.

Step ``clarify`` waits for the user's reply to a question back.
"""

from __future__ import annotations

from typing import Any, Final, cast

from agent.cognition import Planned
from agent.deps import Deps
from agent.events import Replied, Routed
from agent.state import PlanStep, Route, RunState
from agent.steps.converse import is_small_talk
from agent.steps.plan import look_up, request_of

_REASONS: Final[dict[Route, str]] = {
    "direct": "It needs no documents.",
    "clarify": "It does not say what is meant.",
    "single": "One look-up answers it.",
    "deep": "It needs more than one look-up.",
}


def route(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads asked, question, turns, clarified. Writes question, route, asking, plan, planned_by, and
    clears looked and notebook after a clarification.

    After a clarification it is passed again, and does not ask a second time.
    """
    if not deps.route and is_small_talk(state["question"]):
        return _routed(state, deps, "direct", "exact")
    chosen = cast(Route, deps.route) if deps.route else None
    made = deps.cognition.planner.begin(deps.session, request_of(state, deps), chosen)
    source = "person" if chosen else made.origin
    return _routed(state, deps, chosen or _route(state, deps, made), source, made)


def _route(state: RunState, deps: Deps, made: Planned) -> Route:
    if made.kind == "talk" and state["turns"]:  # without a conversation there is nothing to talk about
        return "direct"
    if made.kind == "ask" and deps.interactive and not state["clarified"]:
        return "clarify"
    return "deep" if len(made.steps) > 1 else "single"


def _routed(
    state: RunState, deps: Deps, chosen: Route, source: str, made: Planned | None = None
) -> dict[str, Any]:
    question = state["question"]
    steps: list[PlanStep] = []
    asking = ""
    if made is not None and made.kind == "ask":
        asking = made.question
    elif made is not None:
        # Typed words are kept where they are complete in themselves.
        question = made.question if state["turns"] or state["clarified"] else question
        steps = made.steps
    reason = "as you asked for" if source == "person" else _REASONS[chosen]
    deps.session.emit(Routed(chosen, reason, source, state["asked"], question))
    # What was searched before a clarification was searched for less than the whole question.
    cleared: dict[str, Any] = {"looked": [], "notebook": []} if state["clarified"] else {}
    return {
        **cleared,
        "question": question,
        "route": chosen,
        "asking": asking,
        "plan": steps or [look_up(question)],
        "planned_by": made.origin if made and steps else "default",
    }


def clarify(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, asking. Writes question, clarified.

    Nothing comes before the interrupt: LangGraph runs the node again from its beginning when the reply
    is there.
    """
    from langgraph.types import interrupt

    replied = interrupt({"about": "clarify", "question": state["asking"], "options": []})
    reply = str(replied["reply"])
    waited = replied.get("waited", 0.0)  # not with a reply that an earlier version kept
    deps.session.emit(Replied("clarify", state["asking"], reply, "person", waited))
    question = f"{state['question']} ({' '.join(reply.split())})" if reply.strip() else state["question"]
    return {"question": question, "clarified": True}
