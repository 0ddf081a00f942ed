"""Node ``reflect``: says what the step's evidence shows, in a sentence of a passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent import notebook
from agent.cognition.reflecting import LIKELY, NOTHING, POSSIBLE, SURE, Finding, Spans, best_span, of_span
from agent.cognition.rewriting import references
from agent.deps import Deps
from agent.events import Contradicted, NotebookGrew, Noted
from agent.retrieval.terms import terms
from agent.retrieval.versions import same_series, versions
from agent.state import RELEVANCE, AnswerSpan, Earlier, Evidence, Note, RunState
from agent.text import quantities
from agent.text.language import language, readable


def reflect(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, revisions, position, step, route, candidates, evidence, notebook. Writes notes, notebook.

    A step without candidates is noted as not found without asking. The language model is asked only for
    what a later step needs and the reader is not sure of: the answer is written from the evidence in one
    call. Where two versions of a document disagree, the later one is followed and the earlier one told.
    """
    question = state["plan"][state["position"]]["question"]
    evidence, spans = proposed(state)
    finding = NOTHING
    if evidence:
        finding = _finding(state, deps, question, evidence, spans)
    finding, earlier = _latest(question, finding, evidence, spans)
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
    if deps.steering.skipping and not note["found"]:
        note["skipped"] = True
    entries = [notebook.note_entry(note)]
    deps.session.emit(Noted(note, finding.origin))
    if earlier is not None:
        note["earlier"] = earlier
        entries.append(_tell(state["step"], note, earlier, evidence, deps))
    for entry in entries:
        deps.session.emit(NotebookGrew(entry))
    return {"notes": [*state["notes"], note], "notebook": [*state["notebook"], *entries]}


def proposed(state: RunState) -> tuple[list[Evidence], Spans]:
    """The step's evidence, and what the reader proposes in it, by citation number."""
    spans = {c["passage_id"]: c.get("spans", []) for c in state["candidates"]}
    evidence = [item for item in state["evidence"] if item["passage_id"] in spans]
    return evidence, {item["number"]: spans[item["passage_id"]] for item in evidence}


def _finding(state: RunState, deps: Deps, question: str, evidence: list[Evidence], spans: Spans) -> Finding:
    if deps.cognition.instant and not _referred_to(state):
        best = best_span(spans) if readable(question) else None
        enough = SURE if state["route"] == "single" else POSSIBLE
        return of_span(*best) if best and best[1]["probability"] >= enough else NOTHING
    return deps.cognition.reflector.reflect(deps.session, state["notebook"], question, evidence, spans)


def _referred_to(state: RunState) -> bool:
    """Whether a step that is still to come needs this one's answer."""
    rest = state["plan"][state["position"] + 1 :]
    return any(state["step"] in references(step["question"]) for step in rest)


def _latest(
    question: str, finding: Finding, evidence: Sequence[Evidence], spans: Spans
) -> tuple[Finding, Earlier | None]:
    """The finding of the latest version of its document, and what the version before it says instead.

    A question that names a date asks about that date, and not for the latest.
    """
    own = next((item for item in evidence if item["number"] in finding.cites), None)
    if own is None or quantities.dated(question, language(question)):
        return finding, None
    said = {item["number"]: span for item in evidence if (span := _probable(item, spans)) is not None}
    rivals = [item for item in evidence if item["number"] in said and same_series(item, own)]
    for newest, *rest in versions([own, *rivals]):
        if newest is not own:
            finding = of_span(newest["number"], said[newest["number"]])
        for item in rest:
            told = said.get(item["number"])
            if told is None or set(terms(told["text"])) == set(terms(finding.answer)):
                continue
            earlier = Earlier(
                answer=told["text"], sentence=told["unit"], number=item["number"], date=item["date"]
            )
            return finding, earlier
    return finding, None


def _probable(item: Evidence, spans: Spans) -> AnswerSpan | None:
    """The best span of a passage, if it is likely enough to be set against another version's."""
    best = next(iter(spans.get(item["number"], ())), None)
    return best if best is not None and best["probability"] >= LIKELY else None


def _tell(step: int, note: Note, earlier: Earlier, evidence: Sequence[Evidence], deps: Deps) -> str:
    dates = {item["number"]: item["date"] for item in evidence}
    number = note["cites"][0]
    deps.session.emit(
        Contradicted(
            step=step,
            value=note["answer"],
            number=number,
            date=dates[number],
            superseded=earlier["answer"],
            superseded_number=earlier["number"],
            superseded_date=earlier["date"],
        )
    )
    return notebook.version_entry(
        step, note["answer"], number, dates[number], earlier["number"], earlier["date"]
    )
