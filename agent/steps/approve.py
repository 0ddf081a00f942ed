"""Step ``approve``: the user decides about an answer that its passages do not support."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import Answered, Replied
from agent.prompts import WITHHELD
from agent.state import RunState

OPTIONS = ("accept", "rewrite", "search", "stop")
_QUESTION = "This answer is not fully supported by its sources. What now?"


def approve(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads claims, approval. Writes approval, and status and answer where it is withheld; clears
    stopped_because and sets action where more is to be searched.

    Nothing comes before the interrupt: LangGraph runs the node again from its beginning when the reply
    is there. The graph comes back here as often as an answer is not grounded. Where a rule replies,
    ``never`` has it rewritten from the evidence once, and then withheld.
    """
    waited = 0.0
    if deps.approve == "ask":
        reply, waited = _ask(state)
    elif deps.approve == "always":
        reply = "accept"
    else:
        reply = "stop" if state["approval"] == "rewrite" else "rewrite"
    by = "person" if deps.approve == "ask" else "rule"
    deps.session.emit(Replied("approve", _QUESTION, reply, by, waited))
    if reply == "search":
        deps.steering.look_again()
        return {"approval": reply, "action": "REVISE", "stopped_because": ""}
    if reply == "stop":
        deps.session.emit(Answered(WITHHELD, [], []))
        return {"approval": reply, "answer": WITHHELD, "status": "rejected"}
    return {"approval": reply}


def _ask(state: RunState) -> tuple[str, float]:
    """The reply, one of `OPTIONS`, and the seconds until it came."""
    from langgraph.types import interrupt

    waited = 0.0
    while True:
        asked = {
            "about": "approve",
            "question": _QUESTION,
            "options": list(OPTIONS),
            "claims": state["claims"],
        }
        replied = interrupt(asked)
        reply = str(replied["reply"]).strip().casefold()
        waited += replied.get("waited", 0.0)  # not with a reply that an earlier version kept
        if reply in OPTIONS:
            return reply, waited
