"""Node ``reflect``: says what the step's evidence shows, in a sentence of a passage."""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.cognition.reflecting import NOTHING, SURE, Finding, Spans, best_span, of_span
from agent.deps import Deps
from agent.events import NotebookGrew, Noted
from agent.state import RELEVANCE, Evidence, Note, RunState


def reflect(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, revisions, position, step, route, candidates, evidence, notebook. Writes notes, notebook.

    A step without candidates is noted as not found without asking. A single look-up of which the reader is
    not sure is not asked about either: the answer is written from its evidence in one call.
    """
    question = state["plan"][state["position"]]["question"]
    evidence, spans = proposed(state)
    finding = NOTHING
    if evidence:
        finding = _finding(state, deps, question, evidence, spans)
    note = Note(
        step=state["step"],
        question=question,
        sentence=finding.sentence,
        answer=finding.answer,
        cites=finding.cites,
        found=finding.found,
        revision=state["revisions"],
        relevance=max((c["scores"].get(RELEVANCE, 0.0) for c in state["candidates"]), default=0.0),
        sure=finding.origin == "reader",
    )
    entry = notebook.note_entry(note)
    deps.session.emit(Noted(note, finding.origin))
    deps.session.emit(NotebookGrew(entry))
    return {"notes": [*state["notes"], note], "notebook": [*state["notebook"], entry]}


def proposed(state: RunState) -> tuple[list[Evidence], Spans]:
    """The step's evidence, and what the reader proposes in it, by citation number."""
    spans = {c["passage_id"]: c.get("spans", []) for c in state["candidates"]}
    evidence = [item for item in state["evidence"] if item["passage_id"] in spans]
    return evidence, {item["number"]: spans[item["passage_id"]] for item in evidence}


def _finding(state: RunState, deps: Deps, question: str, evidence: list[Evidence], spans: Spans) -> Finding:
    if state["route"] == "single" and deps.cognition.instant:
        best = best_span(spans)
        return of_span(*best) if best and best[1]["probability"] >= SURE else NOTHING
    return deps.cognition.reflector.reflect(deps.session, state["notebook"], question, evidence, spans)
