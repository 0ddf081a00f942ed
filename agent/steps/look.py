"""Step ``look``: the question itself is searched and read as it is, before anything is planned.

So a plan can only add to what the question finds by itself, and a first look is shown at once. A follow-up
is made complete first.
"""

from __future__ import annotations

from typing import Any

from agent import notebook
from agent.deps import Deps
from agent.events import FirstLook, NotebookGrew, Planned
from agent.retrieval.recall import aim
from agent.state import Candidate, RunState
from agent.steps.plan import look_up
from agent.steps.reflect import POSSIBLE
from agent.steps.rerank import read
from agent.steps.retrieve import candidate


def look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question. Writes looked, notebook."""
    entry = notebook.opening(state["question"], deps.described)
    deps.session.emit(NotebookGrew(entry))
    if not deps.cognition.instant:
        return {"notebook": [entry]}
    scopes = aim(deps.library, deps.tools, state["question"], "", "", hard=False)
    hits = deps.recall.search(state["question"], "hybrid", scopes, deps.recalled)
    found = read(deps.reader, state["question"], [candidate(hit) for hit in hits]) if hits else []
    best = likeliest(found)
    if best is not None and (span := best["spans"][0])["probability"] >= POSSIBLE:
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
    return {"looked": found[: deps.kept], "notebook": [entry]}


def likeliest(found: list[Candidate]) -> Candidate | None:
    """The passage with the most probable answer span; None where the reader proposes none."""
    proposing = [one for one in found if one.get("spans")]
    return max(proposing, key=lambda one: one["spans"][0]["probability"], default=None)


def single_shot(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question. Writes plan: the question itself, in the collection that its look-up prefers."""
    step = look_up(state["question"], state["plan"][0]["tool"] if len(state["plan"]) == 1 else "")
    deps.session.emit(Planned([step], 0, state["planned_by"]))
    return {"plan": [step]}
