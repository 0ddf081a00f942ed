"""Node ``synthesise``: writes the answer from the findings and checks its citations."""

from __future__ import annotations

from typing import Any

from agent import citations
from agent.budget import BudgetExhausted
from agent.cognition.reflecting import ExtractiveReflector
from agent.cognition.writing import abstains, from_findings
from agent.deps import Deps
from agent.events import Answered, AnswerText, Warned
from agent.prompts import NOT_FOUND
from agent.state import Note, RunState

_SAID = 0.8  # share of a sentence in its passages from which it is theirs, and not the model's excuse


def synthesise(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, notes, evidence, notebook, stopped_because. Writes answer, status, and
    stopped_because where the budget ran out here.

    Without a finding nothing is written but that nothing was found; nor is a paragraph kept that only
    says so. When the budget is used up, the findings themselves are the answer; if not even one step got
    as far as a finding, the best passage.
    """
    notes = state["notes"]
    evidence = state["evidence"]
    if not any(note["found"] for note in notes):
        if notes or not evidence:
            deps.session.emit(Answered(NOT_FOUND, [], []))
            return {"answer": NOT_FOUND, "status": "not_found"}
        best = ExtractiveReflector().reflect(
            deps.session, [], state["question"], state["question"], evidence
        )
        notes = [
            Note(
                step=1,
                question=state["question"],
                sentence=best.sentence,
                answer=best.answer,
                cites=best.cites,
                found=True,
                revision=0,
            )
        ]
    stopped = state["stopped_because"]
    try:
        written = deps.cognition.writer.write(
            deps.session,
            state["notebook"],
            state["question"],
            notes,
            lambda text: deps.session.emit(AnswerText(text)),
        )
    except BudgetExhausted as used_up:
        deps.session.emit(Warned(f"The {used_up} is used up; the answer lists the findings as they stand."))
        written = from_findings(notes)
        stopped = str(used_up)
    checked = citations.check(written, evidence) or citations.check(from_findings(notes), evidence)
    # "The company gives no guidance", as a passage says, is an answer; "no price is given" is none.
    if not checked or (checked[0]["support"] < _SAID and abstains(checked[0]["text"])):
        deps.session.emit(Answered(NOT_FOUND, [], []))
        return {"answer": NOT_FOUND, "status": "not_found", "stopped_because": stopped}
    answer = citations.render(checked)
    cited = {number for sentence in checked for number in sentence["cites"]}
    sources = [item for item in evidence if item["number"] in cited]
    deps.session.emit(Answered(answer, checked, sources))
    return {"answer": answer, "status": "answered", "stopped_because": stopped}
