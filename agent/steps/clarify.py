"""Step ``clarify``: waits for a person to say what is meant."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import Replied
from agent.state import RunState


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
