"""Step ``approve``: the user decides what happens to an answer that its passages do not support."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import Answered, Replied
from agent.prompts import WITHHELD
from agent.state import RunState
from agent.steps.answering import has_unsupported

OPTIONS = ("accept", "rewrite", "search", "stop")
_QUESTION = "This answer is not fully supported by its sources. What now?"


def approve(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads claims, approval, spent. Writes approval, and status and answer if the answer is withheld, or
    spent if it is rewritten; clears stopped_because and sets action if more is to be searched.

    Nothing may come before the interrupt: LangGraph runs the node again from its beginning once there is
    a reply. The graph returns here each time an answer is not grounded. There is a choice only if something
    in it is not supported: not if it may be beside the point, or could not be confirmed. Where a rule
    replies, ``never`` has any such answer rewritten from the evidence once, and then withheld.
    """
    if deps.approve != "never" and not has_unsupported(state["claims"]):
        return {"approval": "accept"}
    wait_seconds = 0.0
    if deps.approve == "ask":
        reply, wait_seconds = _ask(state)
    elif deps.approve == "always":
        reply = "accept"
    else:
        reply = "stop" if state["approval"] == "rewrite" else "rewrite"
    replier = "person" if deps.approve == "ask" else "rule"
    deps.session.emit(Replied("approve", _QUESTION, reply, replier, wait_seconds))
    if reply == "search":
        deps.steering.look_again()
        return {"approval": reply, "action": "REVISE", "stopped_because": ""}
    if reply == "stop":
        deps.session.emit(Answered(WITHHELD, [], []))
        return {"approval": reply, "answer": WITHHELD, "status": "rejected"}
    if reply == "rewrite":  # from the same evidence it would come out the same
        return {"approval": reply, "spent": [*state.get("spent", []), reply]}
    return {"approval": reply}


def _ask(state: RunState) -> tuple[str, float]:
    """The reply, one of `OPTIONS`, and the seconds until it came."""
    from langgraph.types import interrupt

    wait_seconds = 0.0
    options = [option for option in OPTIONS if option not in state.get("spent", [])]
    while True:
        request = {
            "about": "approve",
            "question": _QUESTION,
            "options": options,
            "claims": state["claims"],
        }
        response = interrupt(request)
        reply = str(response["reply"]).strip().casefold()
        wait_seconds += response.get("waited", 0.0)  # replies stored by earlier versions lack it
        if reply in options:
            return reply, wait_seconds
