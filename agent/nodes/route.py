"""Node ``route``: makes a follow-up a question of its own, and says what kind of question it is."""

from __future__ import annotations

from typing import Any

from agent.cognition.routing import clarifying_question
from agent.deps import Deps
from agent.events import Routed
from agent.state import RunState


def route(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads asked, question, turns, clarified. Writes question, route, settled,
    asking.

    After a clarification it is passed again, and does not ask a second time.
    """
    question = state["question"]
    if not state["clarified"]:
        question = deps.cognition.follower.standalone(deps.session, question, state["turns"]).question
    chosen, reason, source, settled = deps.route, "as you asked for", "person", True
    if not chosen:
        routed = deps.cognition.router.route(
            deps.session,
            question,
            state["turns"],
            deps.described,
            may_clarify=deps.interactive and not state["clarified"],
        )
        chosen, reason, source = routed.route, routed.reason, routed.source
        settled = routed.settled
    deps.session.emit(Routed(chosen, reason, source, state["asked"], question))
    update: dict[str, Any] = {"question": question, "route": chosen, "settled": settled}
    if chosen == "clarify":
        update["asking"] = clarifying_question(deps.session, question, deps.described, source)
    return update
