"""Node ``verify``: holds each sentence of the draft against the passages it cites."""

from __future__ import annotations

from typing import Any, Final

from agent import citations
from agent.budget import ANSWER_NOW
from agent.cognition.grading import graded
from agent.cognition.reflecting import LIKELY, POSSIBLE
from agent.cognition.verifying import grounded, share
from agent.cognition.writing import abstains, gaps, with_gaps
from agent.deps import Deps
from agent.events import Answered
from agent.prompts import NOT_FOUND
from agent.retrieval.passage_text import show
from agent.state import Claim, Note, RunState, nothing_found, still_missing
from agent.text.language import readable

_STOPPED: Final = "Stopped before an answer was found."


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
    empty = [abstains(claim["text"]) for claim in checked]
    if not checked or empty[0]:
        return _without_answer(state, deps)
    claims = deps.cognition.verifier.verify(
        deps.session,
        state["question"],
        [claim for claim, nothing in zip(checked, empty, strict=True) if not nothing],
        evidence,
    )
    unread = nothing_found(state["notes"])
    standing = _standing(state, claims, deps) if unread or deps.cognition.instant else claims
    if not standing:
        return _without_answer(state, deps)
    if len(standing) < len(claims):
        shown, claims, draft = standing, standing, ""
    else:
        left = iter(claims)
        # What says nothing keeps its place in the answer, without marks.
        shown = [
            Claim({**old, "cites": [], "verdict": "supported"}) if no else next(left)
            for old, no in zip(checked, empty, strict=True)
        ]
    supported, relied = round(share(claims), 3), grounded(claims, evidence)
    answer = citations.render(shown, draft)
    missing = [] if unread else still_missing(state["notes"])
    skipped = [note["question"] for note in state["notes"] if note.get("skipped")]
    absent = [note["question"] for note in missing if _absent(note) and not note.get("skipped")]
    left_open = [question for question in absent if not _answers(answer, question, deps)]
    answer = with_gaps(answer, [*gaps(left_open), *(f"You skipped: {q}" for q in skipped)], deps.length)
    cited = {number for claim in claims for number in claim["cites"]}
    deps.session.emit(
        Answered(
            answer=answer,
            sentences=claims,
            sources=[item for item in evidence if item["number"] in cited],
            share=supported,
            grounded=relied,
            quotes=citations.quotes(claims, evidence),
            missing=[*left_open, *skipped],
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


def _absent(note: Note) -> bool:
    """Whether the reader grades every passage of the step's searches as beside the point."""
    return graded(note.get("relevance", 0.0)).grade == "incorrect"


def _answers(answer: str, question: str, deps: Deps) -> bool:
    """Whether the answer holds what a step did not find by itself."""
    (reading,) = deps.reader.read(question, [show("", "", "", answer, "text").text])
    return reading.probability >= LIKELY


def _standing(state: RunState, claims: list[Claim], deps: Deps) -> list[Claim]:
    """What stands of an answer.

    All of it where the reader takes a passage rather for an answer than not; what is not supported is
    marked then. Else only what is supported, and where the reader rules every passage out, only if that
    answers the question: so neither the reader nor the language model says alone that something is there.
    In a language that the reader was not taught, what could be checked decides.
    """
    if not readable(state["question"]):
        return claims if all(claim["verdict"] != "not" for claim in claims) else []
    best = max((item["score"] for item in state["evidence"]), default=0.0)
    if best >= LIKELY:
        return claims
    supported = [claim for claim in claims if claim["verdict"] == "supported"]
    text = " ".join(claim["text"] for claim in supported)
    answers = best >= POSSIBLE or (bool(supported) and _answers(text, state["question"], deps))
    return supported if answers else []
