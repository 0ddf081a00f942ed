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
from agent.steps.reflect import LIKELY
from agent.steps.rerank import POSSIBLE, read
from agent.steps.retrieve import candidate
from agent.text.language import in_latin_script

_FIRST = 8
"""Passages that are read before the others, so that a likely answer among them is shown sooner."""


def look(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question. Writes looked, notebook."""
    entry = notebook.opening(state["question"], deps.described)
    deps.session.emit(NotebookGrew(entry))
    if not deps.cognition.instant:
        return {"notebook": [entry]}
    scopes = aim(deps.library, deps.tools, state["question"], "", "", hard=False)
    hits = deps.recall.search(state["question"], "hybrid", scopes, deps.search_limit)
    candidates = [candidate(hit) for hit in hits]
    if in_latin_script(state["question"]):
        passages = _read(state, deps, candidates[:_FIRST])
        shown = _show(likeliest(passages), LIKELY, deps)
        passages = sorted([*passages, *_read(state, deps, candidates[_FIRST:])], key=lambda c: -c["score"])
        if not shown:
            _show(likeliest(passages), POSSIBLE, deps)
    else:  # the reader orders them with the keywords, and its first look would be a guess
        passages = _read(state, deps, candidates)
    return {"looked": passages[: deps.evidence_limit], "notebook": [entry]}


def _read(state: RunState, deps: Deps, candidates: list[Candidate]) -> list[Candidate]:
    return read(deps.reader, state["question"], candidates) if candidates else []


def _show(passage: Candidate | None, enough: float, deps: Deps) -> bool:
    """Show the most probable answer of a passage; False if its probability is below ``enough``."""
    if passage is None or (span := passage["spans"][0])["probability"] < enough:
        return False
    deps.session.emit(
        FirstLook(
            answer=span["text"],
            sentence=span["unit"],
            passage_id=passage["passage_id"],
            title=passage["title"],
            page=passage["page"],
            probability=span["probability"],
        )
    )
    return True


def likeliest(passages: list[Candidate]) -> Candidate | None:
    """The passage with the most probable answer span; None where the reader proposes none."""
    proposing = [passage for passage in passages if passage.get("spans")]
    return max(proposing, key=lambda passage: passage["spans"][0]["probability"], default=None)


def single_shot(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads question. Writes plan: the question itself, in the collection that its look-up prefers."""
    step = look_up(state["question"], state["plan"][0]["tool"] if len(state["plan"]) == 1 else "")
    deps.session.emit(Planned([step], 0, state["planned_by"]))
    return {"plan": [step]}
