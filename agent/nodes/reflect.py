"""Node ``reflect``: says in one factual sentence what the step's evidence shows."""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.cognition import conflicts
from agent.cognition.reflecting import NOTHING
from agent.deps import Deps
from agent.events import Contradicted, NotebookGrew, Noted
from agent.state import RELEVANCE, Note, RunState


def reflect(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, plan, revisions, position, step, query, candidates, evidence, notebook. Writes
    notes, notebook.

    A step without candidates is noted as not found without asking. Where a later document says
    otherwise, the finding is the later one's.
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
        relevance=max((c["scores"].get(RELEVANCE, 0.0) for c in state["candidates"]), default=0.0),
    )
    conflict = conflicts.find(note, state["evidence"], state["question"])
    if conflict is not None:
        note = conflicts.follow(note, conflict)
    entries = [notebook.note_entry(note)]
    deps.session.emit(Noted(note, finding.origin))
    if conflict is not None:
        deps.session.emit(
            Contradicted(
                step=state["step"],
                value=conflict.value,
                number=conflict.number,
                date=conflict.date,
                superseded=conflict.superseded,
                superseded_number=conflict.superseded_number,
                superseded_date=conflict.superseded_date,
            )
        )
        entries.append(
            notebook.conflict_entry(
                state["step"],
                conflict.value,
                conflict.number,
                conflict.date,
                conflict.superseded_number,
                conflict.superseded_date,
            )
        )
    for entry in entries:
        deps.session.emit(NotebookGrew(entry))
    return {"notes": [*state["notes"], note], "notebook": [*state["notebook"], *entries]}
