"""Node ``single_shot``: one fact is retrieved once and answered; the question is the only step."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import Planned
from agent.state import PlanStep, RunState


def single_shot(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question. Writes plan."""
    step = PlanStep(question=state["question"], reason="", tool="", keywords="", section="")
    deps.session.emit(Planned([step], 0, "rule"))
    return {"plan": [step]}
