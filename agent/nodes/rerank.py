"""Node ``rerank``: a cross-encoder orders the candidates; without one the fused order stands."""

from __future__ import annotations

from typing import Any

from agent.deps import Deps
from agent.events import Reranked
from agent.state import Candidate, RunState


def rerank(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, candidates. Writes candidates (order and scores)."""
    candidates = state["candidates"]
    if not candidates:
        return {}
    name = ""
    if deps.reranker is not None:
        question = state["plan"][state["position"]]["question"]
        scores = deps.reranker.score(question, [f"{c['title']}. {c['text']}" for c in candidates])
        name = deps.reranker.name
        candidates = [
            Candidate({**c, "score": score, "scores": {**c["scores"], "rerank": score}})
            for c, score in zip(candidates, scores, strict=True)
        ]
        candidates.sort(key=lambda c: -c["score"])
    deps.session.emit(
        Reranked(
            state["step"],
            name,
            [c["passage_id"] for c in candidates],
            [round(c["score"], 5) for c in candidates],
        )
    )
    return {"candidates": candidates}
