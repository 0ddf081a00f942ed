"""Node ``clarify``: waits for a person to say what is meant."""

from __future__ import annotations

from typing import Any

from agent.cognition.following import clarified
from agent.deps import Deps
from agent.events import Replied
from agent.state import RunState


def clarify(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, asking. Writes question, clarified.

    Nothing comes before the interrupt: LangGraph runs the node again from its beginning when the reply
    is there.
    """
    from langgraph.types import interrupt

    reply = str(interrupt({"about": "clarify", "question": state["asking"], "options": []})["reply"])
    deps.session.emit(Replied("clarify", state["asking"], reply, "person"))
    return {"question": clarified(state["question"], state["asking"], reply), "clarified": True}
