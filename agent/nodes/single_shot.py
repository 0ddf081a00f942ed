"""Node ``single_shot``: one fact is retrieved once and answered; the question is the only step."""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.deps import Deps
from agent.events import NotebookGrew, Planned
from agent.state import PlanStep, RunState


def single_shot(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question. Writes plan, notebook."""
    step = PlanStep(question=state["question"], reason="", tool="", keywords="", section="")
    entry = notebook.opening(state["question"], deps.described)
    deps.session.emit(Planned([step], 0, "rule"))
    deps.session.emit(NotebookGrew(entry))
    return {"plan": [step], "notebook": [entry]}
