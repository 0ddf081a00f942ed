"""One query through every stage of the retrieval funnel, without a language model, for a person to see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.cognition.grading import CalibratedGrader, Grade
from agent.nodes.retrieve import candidate
from agent.retrieval.recall import Hit, Recall, Strategy
from agent.state import Candidate
from models.protocols import Reranker
from traces.records import Passage, Scope

RANKED = ("vector", "mmr", "keyword", "fused", "rerank")
"""The stages that rank passages, in their order."""

_DEPTH = 100  # hits of a search: both rankings of an ensemble of 50 each, so that every rank is known


@dataclass(frozen=True, slots=True)
class Staged:
    """A passage with what every stage made of it.

    Attributes:
        passage: The stored passage.
        scores: Score by stage name, as `agent.retrieval.recall.Hit` has them, and ``rerank``.
        ranks: Rank from 1 by stage name, for the stages that ranked it.
        grade: What the model-free grader makes of it.
        probability: That it helps to answer, 0 to 1.
    """

    passage: Passage
    scores: dict[str, float]
    ranks: dict[str, int]
    grade: Grade
    probability: float


def inspect(
    query: str,
    strategy: Strategy,
    scope: Scope,
    *,
    recall: Recall,
    embedder: str,
    reranker: Reranker | None = None,
    limit: int = 20,
) -> list[Staged]:
    """The passages that recall brings, reranked if there is a reranker, and graded; best first.

    The order is by the graded probability, as a run keeps passages; among equals by the reranker or, if
    there is none, by recall.

    Args:
        query: One line.
        strategy: Which rankings recall uses.
        scope: Where to search.
        recall: The funnel's first stage.
        embedder: Name of the model that made the vectors: the grade is calibrated for it.
        reranker: The second stage.
        limit: How many passages recall hands on.

    """
    hits = recall.search(query, strategy, [scope], max(limit, _DEPTH))
    ranks = _ranks(hits)
    kept = hits[:limit]
    scores = {hit.passage.id: dict(hit.scores) for hit in kept}
    order = [hit.passage.id for hit in kept]
    if reranker is not None:
        texts = [f"{hit.passage.title}. {hit.passage.text}" for hit in kept]
        for passage, score in zip(order, reranker.score(query, texts), strict=True):
            scores[passage]["rerank"] = score
        order.sort(key=lambda passage: -scores[passage]["rerank"])
        for rank, passage in enumerate(order, start=1):
            ranks[passage]["rerank"] = rank
    by_id = {hit.passage.id: hit for hit in kept}
    found = [Hit(by_id[i].passage, by_id[i].score, scores[i]) for i in order]
    name = reranker.name if reranker is not None else ""
    candidates = [Candidate({**candidate(hit), "reranker": name}) for hit in found]
    graded = CalibratedGrader(embedder).graded(query, candidates)
    staged = [
        Staged(hit.passage, hit.scores, ranks[hit.passage.id], one.grade, one.probability)
        for hit, one in zip(found, graded, strict=True)
    ]
    return sorted(staged, key=lambda one: -one.probability)


def _ranks(hits: Sequence[Hit]) -> dict[int, dict[str, int]]:
    """Chunk id to its rank in each ranking of recall that holds it.

    Every hit has a cosine, also one that only the keywords found: its place among the others' is its rank.
    """
    ranks: dict[int, dict[str, int]] = {hit.passage.id: {} for hit in hits}
    for stage in RANKED:
        holding = [hit for hit in hits if stage in hit.scores]
        holding.sort(key=lambda hit: (-hit.scores[stage], hit.passage.id))
        for rank, hit in enumerate(holding, start=1):
            ranks[hit.passage.id][stage] = rank
    return ranks
