"""Node ``distil``: keeps the best passages as numbered evidence, each cut down to what matters."""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.cognition.distilling import Distilled
from agent.deps import Deps
from agent.events import EvidenceKept, NotebookGrew
from agent.state import RELEVANCE, Evidence, RunState

_UNLIKELY = 2  # passages that are read though the reader takes none of them for an answer
_ANSWER_ROOM = 700  # context tokens kept free for the instructions and answers still to come


def distil(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, query, candidates, evidence, notebook. Writes evidence, fresh, again,
    barren, notebook.

    A chunk gets its citation number the first time it is kept, and keeps it. Passages graded incorrect
    are left out, but for the best two where all are: the reader is not alone in saying that nothing is
    there. An empty retrieval never reaches the distiller: it would invent evidence. Passages that do not
    fit the context any more are dropped from the lowest-ranked end.
    """
    question = state["plan"][state["position"]]["question"]
    helpful = [c for c in state["candidates"] if c["grade"] != "incorrect"]
    candidates = helpful or state["candidates"][:_UNLIKELY]
    if not candidates:
        entry = notebook.nothing_entry(state["step"], question)
        deps.session.emit(EvidenceKept(state["step"], [], []))
        deps.session.emit(NotebookGrew(entry))
        return {
            "fresh": [],
            "barren": state["barren"] + 1,
            "notebook": [*state["notebook"], entry],
        }
    if state["route"] == "single" and deps.cognition.instant:
        # One prompt answers it: whole passages serve that better than what is cut out of them.
        kept = [Distilled(one, one["text"], one["score"]) for one in candidates[: deps.kept]]
    else:
        book, query = state["notebook"], state["query"]
        kept = deps.cognition.distiller.distil(deps.session, book, query, candidates)[: deps.kept]
    while kept and not deps.session.fits(state["notebook"], _read(kept), _ANSWER_ROOM):
        kept.pop()
    return _keep(state, deps, question, kept)


def _read(kept: list[Distilled]) -> str:
    return "\n".join(f"[00] ({d.candidate['title']}) {d.excerpt}" for d in kept)


def _keep(state: RunState, deps: Deps, question: str, kept: list[Distilled]) -> dict[str, Any]:
    evidence = list(state["evidence"])
    by_passage = {item["passage_id"]: item for item in evidence}
    shown: list[tuple[Evidence, bool]] = []
    fresh: list[Evidence] = []
    again: list[int] = []
    for item in kept:
        held = by_passage.get(item.candidate["passage_id"])
        if held is None:
            new = as_evidence(item, len(evidence) + 1, state["step"])
            evidence.append(new)
            fresh.append(new)
            shown.append((new, False))
            continue
        again.append(held["number"])
        known = item.excerpt in held["excerpt"]
        shown.append((Evidence({**held, "excerpt": item.excerpt}), known))
        if not known:
            # Two cuts of a table do not join into one: from now on it is held whole.
            table = held["kind"] == "table"
            excerpt = held["text"] if table else f"{held['excerpt']} … {item.excerpt}"
            evidence[held["number"] - 1] = Evidence({**held, "excerpt": excerpt})
    entry = notebook.evidence_entry(state["step"], question, shown)
    deps.session.emit(EvidenceKept(state["step"], fresh, again))
    deps.session.emit(NotebookGrew(entry))
    return {
        "evidence": evidence,
        "fresh": [item["number"] for item in fresh],
        "again": again,
        "barren": 0 if fresh else state["barren"] + 1,
        "notebook": [*state["notebook"], entry],
    }


def as_evidence(item: Distilled, number: int, step: int) -> Evidence:
    """A passage that is kept, under its citation number."""
    candidate = item.candidate
    return Evidence(
        number=number,
        step=step,
        passage_id=candidate["passage_id"],
        collection=candidate["collection"],
        document=candidate["document"],
        title=candidate["title"],
        date=candidate["date"],
        section=candidate["section"],
        page=candidate["page"],
        kind=candidate["kind"],
        text=candidate["text"],
        excerpt=item.excerpt,
        score=item.score,
        author=candidate.get("author", ""),
        relevance=candidate["scores"].get(RELEVANCE, 0.0),
    )
