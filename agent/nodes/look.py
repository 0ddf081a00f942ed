"""Node ``look``: the question itself is searched and read as it is, before anything is planned.

So a plan can only add to what the question finds by itself, and a person sees a first look at once.
"""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.cognition.reflecting import LIKELY
from agent.deps import Deps
from agent.events import FirstLook, NotebookGrew, Routed
from agent.nodes.rerank import read
from agent.nodes.retrieve import candidate
from agent.retrieval.recall import aim
from agent.state import Candidate, RunState


def look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question, route, settled. Writes route, looked, notebook.

    Where it was left open what kind of question it is, and the reader finds a likely answer, it is a single
    look-up.
    """
    entry = notebook.opening(state["question"], deps.described)
    deps.session.emit(NotebookGrew(entry))
    route = state["route"] or "deep"
    if not deps.cognition.instant:
        return {"route": route, "notebook": [entry]}
    scopes = aim(deps.library, deps.tools, state["question"], "", "", hard=False)
    hits = deps.recall.search(state["question"], "hybrid", scopes, deps.recalled)
    found = read(deps.reader, state["question"], [candidate(hit) for hit in hits]) if hits else []
    best = likeliest(found)
    if best is not None and not state["settled"] and best["spans"][0]["probability"] >= LIKELY:
        route = "single"
        reason = "The question finds its answer by itself."
        deps.session.emit(Routed(route, reason, "rules", state["asked"], state["question"]))
    if best is not None and route == "deep":
        span = best["spans"][0]
        deps.session.emit(
            FirstLook(
                answer=span["text"],
                sentence=span["unit"],
                passage_id=best["passage_id"],
                title=best["title"],
                page=best["page"],
                probability=span["probability"],
            )
        )
    return {"route": route, "looked": found[: deps.kept], "notebook": [entry]}


def likeliest(found: list[Candidate]) -> Candidate | None:
    """The passage with the most probable answer span; None where the reader proposes none."""
    proposing = [one for one in found if one.get("spans")]
    return max(proposing, key=lambda one: one["spans"][0]["probability"], default=None)
