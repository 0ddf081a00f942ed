"""Step ``route``: decides how a question is handled: talk, a clarifying question, one look-up, or several.

Step ``clarify`` waits for the user's reply to a clarifying question.
"""

from __future__ import annotations

from typing import Any, Final, cast

from agent.deps import Deps
from agent.events import Replied, Routed
from agent.state import Route, RunState
from agent.steps.converse import is_small_talk
from agent.steps.plan import request_of
from agent.steps.plan_text import Plan, look_up
from agent.steps.rerank import LIKELY
from traces.plain_text import squeezed

_REASONS: Final[dict[Route, str]] = {
    "direct": "It needs no documents.",
    "clarify": "It does not say what is meant.",
    "single": "One look-up answers it.",
    "deep": "It needs more than one look-up.",
}


def route(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads asked, question, turns, clarified, looked. Writes question, route, asking, plan, planned_by,
    and clears looked and notebook after a clarification.

    It runs again after a clarification, and does not ask a second time.
    """
    question = state["question"]
    if deps.route:
        chosen_route, source = cast(Route, deps.route), "person"
        plan = deps.cognition.planner.begin(deps.session, request_of(state, deps), chosen_route)
    elif is_small_talk(question):
        chosen_route, source, plan = "direct", "exact", Plan("talk", question)
    else:
        plan = deps.cognition.planner.begin(deps.session, request_of(state, deps))
        chosen_route, source = _choose_route(state, deps, plan), plan.origin
    # A question with nothing before it is complete in itself, and stays as typed.
    if plan.kind != "ask" and (state["turns"] or state["clarified"]):
        question = plan.question
    reason = "as you asked for" if source == "person" else _REASONS[chosen_route]
    deps.session.emit(Routed(chosen_route, reason, source, state["asked"], question))
    # Searches before a clarification did not have the whole question.
    cleared: dict[str, Any] = {"looked": [], "notebook": []} if state["clarified"] else {}
    return {
        **cleared,
        "question": question,
        "route": chosen_route,
        "asking": plan.question if plan.kind == "ask" else "",
        "plan": plan.steps or [look_up(question)],
        "planned_by": plan.origin if plan.steps else "default",
    }


def _choose_route(state: RunState, deps: Deps, plan: Plan) -> Route:
    if plan.kind == "talk" and state["turns"]:  # without a conversation there is nothing to talk about
        return "direct"
    likely = {passage["document_id"] for passage in state["looked"] if passage["score"] >= LIKELY}
    # Where the first look finds likely answers in one document alone, it is clear what is meant.
    if plan.kind == "ask" and deps.interactive and not state["clarified"] and len(likely) != 1:
        return "clarify"
    return "deep" if len(plan.steps) > 1 else "single"


def clarify(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, asking. Writes question, clarified.

    Nothing may come before the interrupt: LangGraph runs the node again from its beginning once there is
    a reply.
    """
    from langgraph.types import interrupt

    response = interrupt({"about": "clarify", "question": state["asking"], "options": []})
    reply = str(response["reply"])
    wait_seconds = response.get("waited", 0.0)  # replies stored by earlier versions lack it
    deps.session.emit(Replied("clarify", state["asking"], reply, "person", wait_seconds))
    question = f"{state['question']} ({squeezed(reply)})" if reply.strip() else state["question"]
    return {"question": question, "clarified": True}
