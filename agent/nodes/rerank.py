"""Node ``rerank``: what the phrasings brought becomes one list, ordered by the reranker if any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.deps import Deps
from agent.events import Reranked
from agent.retrieval.fusion import best_first, reciprocal_rank_fusion
from agent.state import Candidate, Recalled, RunState


def rerank(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, recalled. Writes candidates: each passage once, best first.

    A passage that several phrasings, or the rounds of a correction, brought rises. Without a
    cross-encoder the fused order stands. What grading goes by is measured against the step's question:
    a short phrasing is covered easily.
    """
    candidates = _fused(state["recalled"], deps.recalled)
    if not candidates:
        return {"candidates": []}
    question = state["plan"][state["position"]]["question"]
    relevance = deps.recall.relevance(question, [c["passage_id"] for c in candidates])
    candidates = [
        Candidate({**c, "scores": {**c["scores"], **relevance.get(c["passage_id"], {})}})
        for c in candidates
    ]
    name = ""
    if deps.reranker is not None:
        scores = deps.reranker.score(question, [f"{c['title']}. {c['text']}" for c in candidates])
        name = deps.reranker.name
        candidates = [
            Candidate({**c, "score": score, "scores": {**c["scores"], "rerank": score}, "reranker": name})
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


def _fused(recalled: Sequence[Recalled], most: int) -> list[Candidate]:
    """The best of several result lists by reciprocal rank, with the best score of each stage."""
    by_id: dict[int, Candidate] = {}
    for result in recalled:
        for found in result["candidates"]:
            known = by_id.get(found["passage_id"])
            scores = dict(found["scores"])
            for stage, score in known["scores"].items() if known else ():
                scores[stage] = max(score, scores.get(stage, score))
            by_id[found["passage_id"]] = Candidate({**(known or found), "scores": scores})
    if len(recalled) <= 1:
        return list(by_id.values())[:most]
    fused = reciprocal_rank_fusion([[c["passage_id"] for c in r["candidates"]] for r in recalled])
    return [Candidate({**by_id[passage], "score": fused[passage]}) for passage in best_first(fused)[:most]]
