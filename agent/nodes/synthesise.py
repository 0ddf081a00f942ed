"""Node ``synthesise``: writes the answer from the findings; `verify` checks it."""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.budget import BudgetExhausted
from agent.cognition.distilling import SpanDistiller
from agent.cognition.grading import graded
from agent.cognition.reflecting import SURE, ExtractiveReflector, Finding, of_span
from agent.cognition.writing import from_findings
from agent.deps import Deps
from agent.events import AnswerText, EvidenceKept, NotebookGrew, Warned
from agent.nodes.distil import as_evidence
from agent.nodes.look import likeliest
from agent.nodes.reflect import proposed
from agent.state import Evidence, Note, RunState, nothing_found

_LOOKED = 2  # passages of the first look that are kept
_MARKED = 3  # of the reader's candidates that are shown to the model


def synthesise(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, route, looked, notes, evidence, notebook, approval. Writes evidence, notebook, draft,
    status, and stopped_because where the budget ran out here.

    What the question found by itself is added to what the plan's steps found. Without a finding the
    evidence is read once more as a whole: a question whose parts no step could read may still be answered
    by it, and `verify` lets such an answer stand only if its passages say all of it. When the budget is
    used up, the findings themselves are the draft; if not even one step came to an end, the best passage.
    A person who has the answer rewritten gets the findings in their passages' own words, without the model;
    so is a single look-up answered of which the reader is sure.
    """
    kept = _with_look(state, deps)
    state = RunState({**state, **kept})  # type: ignore[typeddict-item] # fields of the state
    notes = state["notes"]
    evidence = state["evidence"]
    unread = nothing_found(notes)
    if (unread or not notes) and not evidence:
        return {**kept, "draft": "", "status": "not_found"}
    if unread:
        return {**kept, **_reread(state, deps)}
    if not notes:
        notes = [_best(state, deps)]
    instant = deps.cognition.instant and state["route"] == "single" and all(n.get("sure") for n in notes)
    if state["approval"] == "rewrite" or instant:
        return {**kept, "draft": from_findings(notes, deps.length), "status": ""}
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
            **kept,
            "draft": from_findings(notes, deps.length),
            "status": "",
            "stopped_because": str(used_up),
        }
    return {**kept, "draft": draft, "status": ""}


def _with_look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Evidence, notebook and notes with what the question found by itself, where a plan did not keep it."""
    if state["route"] == "single":
        return {}
    evidence, held = list(state["evidence"]), {item["passage_id"]: item for item in state["evidence"]}
    likely = [one for one in state["looked"] if graded(one["score"]).grade != "incorrect"][:_LOOKED]
    fresh: list[Evidence] = []
    for distilled in SpanDistiller().extract([one for one in likely if one["passage_id"] not in held]):
        item = as_evidence(distilled, len(evidence) + 1, state["step"])
        evidence.append(item)
        held[item["passage_id"]] = item
        fresh.append(item)
    book = state["notebook"]
    if fresh:
        entry = notebook.evidence_entry(state["step"], state["question"], [(item, False) for item in fresh])
        deps.session.emit(EvidenceKept(state["step"], fresh, []))
        deps.session.emit(NotebookGrew(entry))
        book = [*book, entry]
    notes = state["notes"]
    best = likeliest(likely)
    if best is not None and best["spans"][0]["probability"] >= SURE:
        number = held[best["passage_id"]]["number"]
        if not any(note["found"] and number in note["cites"] for note in notes):
            notes = [_note(state, of_span(number, best["spans"][0])), *notes]
    return {"evidence": evidence, "notebook": book, "notes": notes}


def _note(state: RunState, finding: Finding) -> Note:
    return Note(
        step=state["step"],
        question=state["question"],
        sentence=finding.sentence,
        answer=finding.answer,
        cites=finding.cites,
        found=True,
        revision=state["revisions"],
    )


def _reread(state: RunState, deps: Deps) -> dict[str, Any]:
    # Not shown as it comes: most of the time it will not stand.
    try:
        draft = deps.cognition.writer.reread(
            deps.session, state["notebook"], state["question"], _marked(state)
        )
    except BudgetExhausted:
        return {"draft": "", "status": "not_found"}
    return {"draft": draft, "status": "" if draft else "not_found"}


def _marked(state: RunState) -> list[tuple[int, str]]:
    """The reader's best candidates in the last step's evidence: number and words."""
    _, spans = proposed(state)
    found = [(number, span) for number, own in spans.items() for span in own[:1] if span["text"].strip()]
    found.sort(key=lambda pair: -pair[1]["probability"])
    return [(number, span["text"]) for number, span in found[:_MARKED]]


def _best(state: RunState, deps: Deps) -> Note:
    finding = ExtractiveReflector().reflect(deps.session, [], state["question"], state["evidence"], {})
    return _note(state, finding)
