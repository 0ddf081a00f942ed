"""Node ``reflect``: says in one factual sentence what the step's evidence shows."""

from __future__ import annotations

from typing import Any

from agent import prompts
from agent.cognition.reflecting import NOTHING
from agent.deps import Deps
from agent.events import NotebookGrew, Noted
from agent.state import Note, RunState


def reflect(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, revisions, position, step, query, candidates, evidence, notebook. Writes notes, notebook.

    A step without candidates is noted as not found without asking.
    """
    question = state["plan"][state["position"]]["question"]
    recalled = {c["passage_id"] for c in state["candidates"]}
    evidence = [item for item in state["evidence"] if item["passage_id"] in recalled]
    finding = NOTHING
    if evidence:
        finding = deps.cognition.reflector.reflect(
            deps.session, state["notebook"], question, state["query"], evidence
        )
    note = Note(
        step=state["step"],
        question=question,
        sentence=finding.sentence,
        answer=finding.answer,
        cites=finding.cites,
        found=finding.found,
        revision=state["revisions"],
    )
    entry = prompts.note_entry(note)
    deps.session.emit(Noted(note, finding.origin))
    deps.session.emit(NotebookGrew(entry))
    return {"notes": [*state["notes"], note], "notebook": [*state["notebook"], entry]}
