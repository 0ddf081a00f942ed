"""Node ``grade``: which of the passages help to answer the step, and whether they are enough."""

from __future__ import annotations

from typing import Any

from agent.cognition.grading import overall
from agent.deps import Deps
from agent.events import Graded
from agent.state import RELEVANCE, Candidate, RunState

_FAR_BEHIND = 0.05  # share of the best passage's probability


def grade(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, candidates, notebook. Writes candidates (graded, best first) and grade.

    The order of before stands among equals. A passage far behind the best is not kept: a small reader
    is led astray by what merely sounds alike.
    """
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
    best = max((one.probability for one in graded), default=0.0)
    marked = [
        Candidate(
            {
                **c,
                "grade": one.grade if one.probability >= _FAR_BEHIND * best else "incorrect",
                "scores": {**c["scores"], RELEVANCE: round(one.probability, 4)},
            }
        )
        for c, one in zip(candidates, graded, strict=True)
    ]
    order = sorted(range(len(marked)), key=lambda i: -graded[i].probability)
    return {"candidates": [marked[i] for i in order], "grade": together}
