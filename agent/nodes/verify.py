"""Node ``verify``: holds each sentence of the draft against the passages it cites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agent import citations
from agent.budget import ANSWER_NOW
from agent.cognition.reflecting import LIKELY
from agent.cognition.verifying import grounded, share
from agent.cognition.writing import abstains, from_findings, gaps, with_gaps
from agent.deps import Deps
from agent.events import Answered
from agent.language import readable
from agent.passage_text import show
from agent.prompts import NOT_FOUND
from agent.state import Claim, RunState, nothing_found, still_missing

_STOPPED: Final = "Stopped before an answer was found."
_DOUBTFUL: Final = 0.2  # probability of a passage below which the reader rules an answer out


def verify(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, draft, status, notes, evidence. Writes claims, share, grounded, answer, status.

    A sentence that the draft repeats is one claim, and stands once in the answer.
    A sentence that only says that something is not there claims nothing: the answer keeps it, or code
    says the same for each step that found nothing, and neither is counted. A draft that begins with such
    a sentence answers nothing.
    """
    evidence = state["evidence"]
    if state["status"] == "not_found" or not state["draft"]:
        return _without_answer(state, deps)
    checked = citations.claims(state["draft"], evidence)
    draft = state["draft"]
    if not checked:
        draft = from_findings(state["notes"], deps.length)
        checked = citations.claims(draft, evidence)
    empty = [abstains(claim["text"]) for claim in checked]
    if not checked or empty[0]:
        return _without_answer(state, deps)
    claims = deps.cognition.verifier.verify(
        deps.session,
        state["question"],
        [claim for claim, nothing in zip(checked, empty, strict=True) if not nothing],
        evidence,
    )
    supported, relied = round(share(claims), 3), grounded(claims, evidence)
    reread = nothing_found(state["notes"])
    if reread and not _stands(state, claims):
        return _without_answer(state, deps)
    left = iter(claims)
    # What says nothing keeps its place in the answer, without marks.
    shown = [
        Claim({**old, "cites": [], "verdict": "supported"}) if no else next(left)
        for old, no in zip(checked, empty, strict=True)
    ]
    answer = citations.render(shown, draft)
    open_ = [] if reread else still_missing(state["notes"])
    skipped = [note["question"] for note in open_ if note.get("skipped")]
    open_ = [
        note for note in open_ if not (note.get("skipped") or _answers(answer, note["question"], deps))
    ]
    lacking = [note["question"] for note in open_]
    answer = with_gaps(answer, [*gaps(lacking), *(f"You skipped: {q}" for q in skipped)], deps.length)
    cited = {number for claim in claims for number in claim["cites"]}
    deps.session.emit(
        Answered(
            answer=answer,
            sentences=claims,
            sources=[item for item in evidence if item["number"] in cited],
            share=supported,
            grounded=relied,
            quotes=citations.quotes(claims, evidence),
            missing=[*lacking, *skipped],
        )
    )
    return {
        "claims": claims,
        "share": supported,
        "grounded": relied,
        "answer": answer,
        "status": "answered",
    }


def _without_answer(state: RunState, deps: Deps) -> dict[str, Any]:
    """What the documents do not say, or what was not searched to its end: that says nothing of them."""
    notes, ended = state["notes"], state["stopped_because"]
    early = ended == ANSWER_NOW or (bool(notes or ended) and all(note.get("skipped") for note in notes))
    answer, status, share = (_STOPPED, "stopped", None) if early else (NOT_FOUND, "not_found", 0.0)
    deps.session.emit(Answered(answer, [], [], share))
    return {"claims": [], "share": 0.0, "grounded": False, "answer": answer, "status": status}


def _answers(answer: str, question: str, deps: Deps) -> bool:
    """Whether the answer holds what a step did not find by itself."""
    (reading,) = deps.reader.read(question, [show("", "", "", answer, "text").text])
    return reading.probability >= LIKELY


def _stands(state: RunState, claims: Sequence[Claim]) -> bool:
    """Whether an answer stands though the reader was not sure of any.

    It does where the reader takes a passage rather for an answer than not; what is not supported is marked
    then. Else only if the reader does not rule it out and all of it is supported: so neither the reader nor
    the language model says alone that nothing is there. In a language that the reader was not taught, what
    could be checked decides.
    """
    best = max((item["score"] for item in state["evidence"]), default=0.0)
    if not readable(state["question"]):
        return all(claim["verdict"] != "not" for claim in claims)
    return best >= LIKELY or (best >= _DOUBTFUL and all(c["verdict"] == "supported" for c in claims))
