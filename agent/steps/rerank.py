"""Step ``rerank``: the reader reads what the phrasings brought; the most probable passage comes first."""

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

    A passage that several phrasings, or the rounds of a correction, brought is read earlier. All are read
    against the step's question.
    """
    candidates = fused(state["recalled"], deps.recalled)
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
        question: What they may answer.
        candidates: In any order; of equals the earlier stays first.
    """
    shown = [show(c["title"], c["section"], dated(c), c["text"], c["kind"]) for c in candidates]
    readings = reader.read(question, [passage.text for passage in shown])
    scored: list[Candidate] = []
    for candidate, passage, reading in zip(candidates, shown, readings, strict=True):
        spans = [
            AnswerSpan(
                text=_quoted(passage.text[span.start : span.end]),
                unit=_quoted(passage.unit(span.start, span.end)),
                probability=round(span.probability, 4),
            )
            for span in reading.spans
        ]
        scores = {**candidate["scores"], "rerank": reading.probability}
        scored.append(
            Candidate({**candidate, "score": reading.probability, "scores": scores, "spans": spans})
        )
    return sorted(scored, key=lambda c: -c["score"])


def _quoted(text: str) -> str:
    return without_marks(" ".join(text.split()))


def fused(recalled: Sequence[Recalled], most: int) -> list[Candidate]:
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
    order = reciprocal_rank_fusion([[c["passage_id"] for c in r["candidates"]] for r in recalled])
    return [Candidate({**by_id[passage], "score": order[passage]}) for passage in best_first(order)[:most]]
