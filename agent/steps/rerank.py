"""Step ``rerank``: the reader reads the passages found; the one most likely to answer comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.deps import Deps
from agent.events import Reranked
from agent.notebook import dated
from agent.retrieval.fusion import best_first, reciprocal_rank_fusion
from agent.retrieval.passage_text import show
from agent.state import AnswerSpan, Candidate, Recalled, RunState, without_marks
from models.protocols import Reader


def rerank(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads plan, position, step, recalled. Writes candidates: each passage once, best first.

    Passages that several phrasings, or several rounds of correction, brought are read first. All are read
    against the step's question.
    """
    candidates = fuse(state["recalled"], deps.search_limit)
    if not candidates:
        return {"candidates": []}
    candidates = read(deps.reader, state["plan"][state["position"]]["question"], candidates)
    deps.session.emit(
        Reranked(
            state["step"],
            deps.reader.name,
            [c["passage_id"] for c in candidates],
            [round(c["score"], 5) for c in candidates],
        )
    )
    return {"candidates": candidates}


def read(reader: Reader, question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with the reader's score and answer spans, most probable first.

    Args:
        reader: Reads them in one batch.
        question: The question they may answer.
        candidates: In any order; ties keep their order.
    """
    passages = [show(c["title"], c["section"], dated(c), c["text"], c["kind"]) for c in candidates]
    readings = reader.read(question, [passage.text for passage in passages])
    scored_candidates: list[Candidate] = []
    for candidate, passage, reading in zip(candidates, passages, readings, strict=True):
        spans = [
            AnswerSpan(
                text=_clean_span(passage.text[span.start : span.end]),
                unit=_clean_span(passage.unit(span.start, span.end)),
                probability=round(span.probability, 4),
            )
            for span in reading.spans
        ]
        scores = {**candidate["scores"], "rerank": reading.probability}
        scored_candidates.append(
            Candidate({**candidate, "score": reading.probability, "scores": scores, "spans": spans})
        )
    return sorted(scored_candidates, key=lambda c: -c["score"])


def _clean_span(text: str) -> str:
    return without_marks(" ".join(text.split()))


def fuse(recalled: Sequence[Recalled], limit: int) -> list[Candidate]:
    """The ``limit`` best of several result lists by reciprocal rank, with the best score of each stage."""
    by_id: dict[int, Candidate] = {}
    for result in recalled:
        for candidate in result["candidates"]:
            earlier = by_id.get(candidate["passage_id"])
            scores = dict(candidate["scores"])
            for stage, score in earlier["scores"].items() if earlier else ():
                scores[stage] = max(score, scores.get(stage, score))
            by_id[candidate["passage_id"]] = Candidate({**(earlier or candidate), "scores": scores})
    if len(recalled) <= 1:
        return list(by_id.values())[:limit]
    fused_scores = reciprocal_rank_fusion([[c["passage_id"] for c in r["candidates"]] for r in recalled])
    return [
        Candidate({**by_id[passage_id], "score": fused_scores[passage_id]})
        for passage_id in best_first(fused_scores)[:limit]
    ]
