"""Node ``synthesise``: writes the answer from what was found; `verify` checks it."""

from __future__ import annotations

from typing import Any

from agent import citations, notebook
from agent.budget import BudgetExhausted
from agent.cognition.distilling import Distilled
from agent.cognition.grading import graded
from agent.cognition.reflecting import LIKELY, SURE, ExtractiveReflector, Finding, best_span, of_span
from agent.cognition.writing import Length, from_findings
from agent.deps import Deps
from agent.events import AnswerText, EvidenceKept, NotebookGrew, Warned
from agent.nodes.distil import as_evidence
from agent.nodes.look import likeliest
from agent.nodes.reflect import proposed
from agent.state import Evidence, Note, RunState, nothing_found
from agent.text.language import readable

_LOOKED = 3  # passages of the first look that are kept
_MOST_PASSAGES = 6  # in one prompt
_ROOM = 500  # context tokens kept free for the question and the answer


def synthesise(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, route, looked, notes, evidence, notebook, approval. Writes evidence, notebook, notes,
    draft, status, and stopped_because where the budget ran out here.

    The passages that the question found by itself are read whole, beside what the plan's steps kept, in one
    prompt. A single look-up of which the reader is sure is answered without the model; so is a person who
    has the answer rewritten, from the findings in their passages' own words. When the budget is used up,
    the findings are the draft; if not even one step came to an end, the best passage.
    """
    kept = _with_look(state, deps)
    state = RunState({**state, **kept})  # type: ignore[typeddict-item] # fields of the state
    notes, evidence = state["notes"], state["evidence"]
    if not evidence:
        return {**kept, "draft": "", "status": "not_found"}
    if not notes:
        notes = [_best(state, deps)]
    sure = deps.cognition.instant and state["route"] == "single" and all(n.get("sure") for n in notes)
    if state["approval"] == "rewrite" or sure:
        return {**kept, "draft": from_findings(notes, deps.length), "status": ""}
    try:
        draft = _written(state, notes, deps)
    except BudgetExhausted as used_up:
        deps.session.emit(Warned(f"The {used_up} is used up; the answer lists the findings."))
        draft = from_findings(notes, deps.length)
        kept["stopped_because"] = str(used_up)
    return {**kept, "draft": draft, "status": "" if draft else "not_found"}


def _written(state: RunState, notes: list[Note], deps: Deps) -> str:
    def show(text: str) -> None:
        deps.session.emit(AnswerText(text))

    def hide(_text: str) -> None:
        """Where no passage is likely, the answer may not stand: it is shown once it is checked."""

    writer, question = deps.cognition.writer, state["question"]
    unread = nothing_found(notes)
    if unread or (deps.cognition.instant and deps.length != "report"):
        passages = _readable(state, deps)
        likely = max(item["score"] for item in passages) >= LIKELY
        length: Length = "normal" if state["route"] == "deep" and deps.length == "normal" else "brief"
        on_text = show if likely else hide
        draft = writer.answer(deps.session, question, passages, _found(state), on_text, length)
    else:
        draft = writer.write(deps.session, state["notebook"], question, notes, show, deps.length)
    if citations.claims(draft, state["evidence"]):
        return draft
    return from_findings(notes) or from_findings(_proposed(state))


def _proposed(state: RunState) -> list[Note]:
    """What the reader proposes in the evidence, if it is likely."""
    best = best_span(proposed(state)[1]) if readable(state["question"]) else None
    return [_note(state, of_span(*best))] if best and best[1]["probability"] >= LIKELY else []


def _readable(state: RunState, deps: Deps) -> list[Evidence]:
    """The best of the evidence, as much as the model has room for, in the order of its numbers."""
    best = sorted(state["evidence"], key=lambda item: -item["score"])[:_MOST_PASSAGES]
    while len(best) > 1 and not deps.session.fits([], "\n\n".join(map(notebook.passage, best)), _ROOM):
        best.pop()
    return sorted(best, key=lambda item: item["number"])


def _found(state: RunState) -> list[tuple[int, str]]:
    """Passage number and sentence of what the plan's steps found."""
    if state["route"] == "single":
        return []
    notes = [note for note in state["notes"] if note["found"]]
    return list(dict.fromkeys((number, note["sentence"]) for note in notes for number in note["cites"]))


def _with_look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Evidence, notebook and notes with what the question found by itself, whole."""
    if state["route"] == "single":
        return {}
    evidence, held = list(state["evidence"]), {item["passage_id"]: item for item in state["evidence"]}
    likely = [one for one in state["looked"] if graded(one["score"]).grade != "incorrect"] or state[
        "looked"
    ]
    likely = likely[:_LOOKED]
    fresh: list[Evidence] = []
    for one in likely:
        if one["passage_id"] in held:
            number = held[one["passage_id"]]["number"]
            evidence[number - 1] = Evidence({**held[one["passage_id"]], "excerpt": one["text"]})
            continue
        item = as_evidence(Distilled(one, one["text"], one["score"]), len(evidence) + 1, state["step"])
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


def _best(state: RunState, deps: Deps) -> Note:
    finding = ExtractiveReflector().reflect(deps.session, [], state["question"], state["evidence"], {})
    return _note(state, finding)
