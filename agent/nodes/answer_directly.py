"""Node ``answer_directly``: a greeting, or a question about the conversation: nothing is looked up."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import Answered
from agent.state import RunState


def answer_directly(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, turns. Writes answer, status, stopped_because."""
    text = deps.cognition.converser.reply(deps.session, state["question"], state["turns"], deps.described)
    deps.session.emit(Answered(text, [], []))
    return {"answer": text, "status": "answered", "stopped_because": "no documents were needed"}
