"""Node ``retrieve``: chooses a strategy and recalls passages for the step's query."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import Searched, Warned
from agent.retrieval.recall import Hit, aim
from agent.state import Candidate, RunState


def retrieve(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads query, plan, position, notebook, queries. Writes strategy, candidates, queries.

    A search that was made before is refused: it can bring nothing new.
    """
    step = state["plan"][state["position"]]
    key = " ".join([*state["query"].split(), "in", step["tool"], step["section"]]).casefold()
    if key in state["queries"]:
        deps.session.emit(Warned(f"Already searched for “{state['query']}”; not searched again."))
        return {"candidates": []}
    chosen = deps.cognition.strategist.choose(deps.session, state["notebook"], state["query"])
    scopes = aim(
        deps.library,
        deps.tools,
        step["question"],
        step["tool"],
        step["section"],
        hard=deps.cognition.hard_filters,
    )
    hits = deps.recall.search(
        state["query"], chosen.strategy, scopes, deps.recalled, keywords=step["keywords"]
    )
    candidates = [_candidate(hit) for hit in hits]
    deps.session.emit(
        Searched(
            state["step"],
            state["query"],
            chosen.strategy,
            chosen.reason,
            step["tool"],
            step["section"],
            candidates,
        )
    )
    return {
        "strategy": chosen.strategy,
        "candidates": candidates,
        "queries": [*state["queries"], key],
    }


def _candidate(hit: Hit) -> Candidate:
    passage = hit.passage
    return Candidate(
        passage_id=passage.id,
        document_id=passage.document_id,
        collection=passage.collection,
        document=passage.document,
        title=passage.title,
        date=passage.date,
        section=passage.section,
        page=passage.page,
        kind=passage.kind,
        text=passage.text,
        score=hit.score,
        scores=hit.scores,
        grade="",
    )
