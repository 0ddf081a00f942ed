"""Node ``grade``: which of the passages help to answer the step, and whether they are enough."""

from __future__ import annotations

from typing import Any

from agent.cognition.grading import overall
from agent.deps import Deps
from agent.events import Graded
from agent.state import Candidate, RunState


def grade(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, candidates, notebook. Writes candidates (their grades) and grade."""
    question = state["plan"][state["position"]]["question"]
    candidates = state["candidates"]
    graded = deps.cognition.grader.grade(deps.session, state["notebook"], question, candidates)
    grades = [one.grade for one in graded]
    together = overall(grades)
    deps.session.emit(
        Graded(
            step=state["step"],
            grade=together,
            grader=deps.cognition.grader.name,
            passages=[c["passage_id"] for c in candidates],
            grades=list(grades),
            probabilities=[round(one.probability, 4) for one in graded],
        )
    )
    marked = [Candidate({**c, "grade": g}) for c, g in zip(candidates, grades, strict=True)]
    return {"candidates": marked, "grade": together}
