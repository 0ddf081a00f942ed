"""Node ``synthesise``: writes the answer from the findings; `verify` checks it."""

from __future__ import annotations

from typing import Any

from agent.budget import BudgetExhausted
from agent.cognition.reflecting import ExtractiveReflector
from agent.cognition.writing import from_findings
from agent.deps import Deps
from agent.events import AnswerText, Warned
from agent.state import Note, RunState, nothing_found


def synthesise(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, notes, evidence, notebook, approval. Writes draft, status, and stopped_because
    where the budget ran out here.

    Without a finding the evidence is read once more as a whole: a question whose parts no step could read
    may still be answered by it, and `verify` lets such an answer stand only if its passages say all of it.
    When the budget is used up, the findings themselves are the draft; if not even one step came to an end,
    the best passage. A person who has the answer rewritten gets the findings in their passages' own words,
    without the model.
    """
    notes = state["notes"]
    evidence = state["evidence"]
    unread = nothing_found(notes)
    if (unread or not notes) and not evidence:
        return {"draft": "", "status": "not_found"}
    if unread:
        return _reread(state, deps)
    if not notes:
        notes = [_best(state, deps)]
    if state["approval"] == "rewrite":
        return {"draft": from_findings(notes, deps.length), "status": ""}
    try:
        draft = deps.cognition.writer.write(
            deps.session,
            state["notebook"],
            state["question"],
            notes,
            lambda text: deps.session.emit(AnswerText(text)),
            deps.length,
        )
    except BudgetExhausted as used_up:
        deps.session.emit(Warned(f"The {used_up} is used up; the answer lists the findings as they stand."))
        return {
            "draft": from_findings(notes, deps.length),
            "status": "",
            "stopped_because": str(used_up),
        }
    return {"draft": draft, "status": ""}


def _reread(state: RunState, deps: Deps) -> dict[str, Any]:
    # Not shown as it comes: most of the time it will not stand.
    try:
        draft = deps.cognition.writer.reread(deps.session, state["notebook"], state["question"])
    except BudgetExhausted:
        return {"draft": "", "status": "not_found"}
    return {"draft": draft, "status": "" if draft else "not_found"}


def _best(state: RunState, deps: Deps) -> Note:
    best = ExtractiveReflector().reflect(
        deps.session, [], state["question"], state["question"], state["evidence"]
    )
    return Note(
        step=1,
        question=state["question"],
        sentence=best.sentence,
        answer=best.answer,
        cites=best.cites,
        found=True,
        revision=0,
    )
