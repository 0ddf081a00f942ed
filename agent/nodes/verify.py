"""Node ``verify``: holds each sentence of the draft against the passages it cites."""

from __future__ import annotations

from typing import Any

from agent import citations
from agent.cognition import conflicts
from agent.cognition.support import in_words, latin
from agent.cognition.verifying import grounded, share
from agent.cognition.writing import abstains, from_findings, gaps, unanswered, with_gaps
from agent.deps import Deps
from agent.events import Answered
from agent.prompts import NOT_FOUND
from agent.state import Claim, RunState, nothing_found

_SAID = 0.8  # share of a sentence in its passages from which it is theirs, and not the model's excuse


def verify(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, draft, status, notes, evidence. Writes claims, share, grounded, answer, status.

    A sentence that the draft repeats is one claim, and stands once in the answer.
    A sentence that only says that something is not there claims nothing: the answer keeps it, or code
    says the same for each step that found nothing, and neither is counted. A draft that begins with such
    a sentence answers nothing. Where an earlier source says otherwise, the answer says so too.
    """
    evidence = state["evidence"]
    if state["status"] == "not_found" or not state["draft"]:
        return _not_found(deps)
    checked = citations.check(state["draft"], evidence)
    draft = state["draft"]
    if not checked:
        draft = from_findings(state["notes"], deps.length)
        checked = citations.check(draft, evidence)
    empty = [_says_nothing(claim) for claim in checked]
    if not checked or empty[0] or all(empty):
        return _not_found(deps)
    claims = deps.cognition.verifier.verify(
        deps.session,
        state["question"],
        [claim for claim, nothing in zip(checked, empty, strict=True) if not nothing],
        evidence,
    )
    supported = round(share(claims), 3)
    relied = grounded(claims, evidence)
    reread = nothing_found(state["notes"])
    if reread and not (relied and _comparable(state) and share(claims) == 1.0):
        return _not_found(deps)  # no step found anything, and the evidence as a whole does not say it
    left = iter(claims)
    # What says nothing keeps its place in the answer, without marks.
    shown = [
        Claim({**old, "cites": [], "verdict": "supported"}) if no else next(left)
        for old, no in zip(checked, empty, strict=True)
    ]
    conflicting = _superseded(state, claims)
    earlier = [_named(conflict) for conflict in conflicting]
    quotes = citations.quotes(claims, evidence) | {
        str(conflict.superseded_number): conflict.superseded_sentence for conflict in conflicting
    }
    missing = gaps([] if reread else unanswered(state["notes"]))
    answer = citations.render(shown, draft)
    if earlier:
        answer = f"{answer} {citations.render(earlier)}"
    answer = with_gaps(answer, missing, deps.length)
    claims = [*claims, *earlier]
    cited = {number for claim in claims for number in claim["cites"]}
    deps.session.emit(
        Answered(
            answer=answer,
            sentences=claims,
            sources=[item for item in evidence if item["number"] in cited],
            share=supported,
            grounded=relied,
            quotes=quotes,
        )
    )
    return {
        "claims": claims,
        "share": supported,
        "grounded": relied,
        "answer": answer,
        "status": "answered",
    }


def _not_found(deps: Deps) -> dict[str, Any]:
    deps.session.emit(Answered(NOT_FOUND, [], []))
    return {"claims": [], "share": 0.0, "grounded": False, "answer": NOT_FOUND, "status": "not_found"}


def _comparable(state: RunState) -> bool:
    # Asked in one script and answered in another, a small model recites what stands there.
    return latin(state["question"]) == latin(state["draft"])


def _says_nothing(claim: Claim) -> bool:
    # "The company gives no guidance", as a passage says, is an answer; "no price is given" is none.
    return claim["support"] < _SAID and abstains(claim["text"])


def _superseded(state: RunState, claims: list[Claim]) -> list[conflicts.Conflict]:
    """The contradictions whose later side the answer gives without naming the earlier."""
    cited = {number for claim in claims for number in claim["cites"]}
    found: dict[int, conflicts.Conflict] = {}
    for note in state["notes"]:
        conflict = conflicts.find(note, state["evidence"], state["question"])
        if conflict is not None and conflict.number in cited and conflict.superseded_number not in cited:
            found[conflict.superseded_number] = conflict
    return list(found.values())


def _named(conflict: conflicts.Conflict) -> Claim:
    """Says that there is an earlier source. Its figure is not repeated: it is not to be used."""
    return Claim(
        text=f"An earlier source, dated {in_words(conflict.superseded_date)}, gives another figure.",
        cites=[conflict.superseded_number],
        support=1.0,
        verdict="supported",
        reason="",
    )
