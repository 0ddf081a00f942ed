"""Runs one query through every stage of the retrieval funnel, without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.retrieval.recall import Hit, Recall
from agent.state import Grade
from agent.steps.grade import graded
from agent.steps.rerank import read
from agent.steps.retrieve import candidate
from models.protocols import Reader
from traces.records import Passage, Scope

RANKED = ("vector", "mmr", "keyword", "fused", "rerank")
"""The stages that rank passages, in order."""

_SHOWN = 20
_DEPTH = 100  # hits of a search: two rankings of 50 each, so that every hit has its ranks


@dataclass(frozen=True, slots=True)
class Staged:
    """A passage with its score and rank in every stage."""

    passage: Passage
    scores: dict[str, float]  # by stage name, as in `agent.retrieval.recall.Hit`, and ``rerank``
    ranks: dict[str, int]  # from 1 by stage name, for the stages that ranked it
    grade: Grade  # for the reader's probability
    probability: float  # 0 to 1, that the passage answers the query


def inspect(query: str, scope: Scope, recall: Recall, reader: Reader) -> list[Staged]:
    """The first passages that a query recalls, read and graded, best first."""
    hits = recall.search(query, "hybrid", [scope], _DEPTH)
    ranks = _ranks(hits)
    passages = {hit.passage.id: hit.passage for hit in hits[:_SHOWN]}
    candidates = read(reader, query, [candidate(hit) for hit in hits[:_SHOWN]])
    for rank, entry in enumerate(candidates, start=1):
        ranks[entry["passage_id"]]["rerank"] = rank
    return [
        Staged(
            passages[entry["passage_id"]],
            entry["scores"],
            ranks[entry["passage_id"]],
            graded(entry["score"]),
            entry["score"],
        )
        for entry in candidates
    ]


def _ranks(hits: Sequence[Hit]) -> dict[int, dict[str, int]]:
    """The rank of each chunk, by its id, in each ranking.

    Every hit has a cosine, even if only the keyword search found it, and so a rank by vector.
    """
    ranks: dict[int, dict[str, int]] = {hit.passage.id: {} for hit in hits}
    for stage in RANKED:
        ranked_hits = [hit for hit in hits if stage in hit.scores]
        ranked_hits.sort(key=lambda hit: (-hit.scores[stage], hit.passage.id))
        for rank, hit in enumerate(ranked_hits, start=1):
            ranks[hit.passage.id][stage] = rank
    return ranks
