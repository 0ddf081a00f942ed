"""Recall: the passages a query brings, by vectors, by keywords, or by both fused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from agent.retrieval.fusion import best_first, reciprocal_rank_fusion
from agent.retrieval.keyword import KeywordIndexes
from agent.retrieval.sections import match_sections
from models.protocols import Embedder
from traces.library import Library, Passage, Scope

Strategy = Literal["vector", "keyword", "hybrid"]
STRATEGIES: tuple[Strategy, ...] = ("vector", "keyword", "hybrid")


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled passage with the score of each stage that saw it.

    Attributes:
        passage: The stored passage.
        score: What the order is by: cosine, BM25, or the fused score.
        scores: Score by stage name (``vector``, ``keyword``, ``fused``, later ``rerank``).
    """

    passage: Passage
    score: float
    scores: dict[str, float] = field(default_factory=dict)


class Recall:
    """First stage of the funnel.

    Args:
        library: Where the passages are.
        embedder: The model that made the library's vectors.
        depth: How many passages each ranking contributes to a fusion.
    """

    def __init__(self, library: Library, embedder: Embedder, depth: int = 50) -> None:
        self._library = library
        self._embedder = embedder
        self._depth = depth
        self._keyword = KeywordIndexes(library)

    def search(
        self,
        query: str,
        strategy: Strategy,
        scope: Scope,
        limit: int,
        *,
        keywords: str = "",
        section: str = "",
    ) -> list[Hit]:
        """The ``limit`` best passages for ``query`` within ``scope``, best first.

        Args:
            query: One line; embedded as it is, and turned into keyword terms.
            strategy: Which rankings are used.
            scope: Hard filters.
            limit: How many to return.
            keywords: Further terms for the keyword ranking.
            section: Where the passage likely stands, as a planner words it. A wrong guess must not
                hide the right passage, so the rankings within the matching sections are fused with
                the rankings of the whole scope rather than replacing them.

        Raises:
            UnknownCollection: the scope names one that does not exist.
            EmbedderMismatch: the library was made by another embedder.
        """
        scopes = [scope]
        if section:
            matched = match_sections(section, self._library.sections(scope))
            if matched:
                scopes.append(Scope(scope.collections, scope.documents, tuple(matched)))
        rankings: list[list[tuple[int, float]]] = []
        seen: dict[str, dict[int, float]] = {}
        if strategy != "keyword":
            vector = self._embedder.embed_query(query)
            for where in scopes:
                found = self._library.nearest(vector, self._embedder.name, where, self._depth)
                seen.setdefault("vector", {}).update(found)
                rankings.append(found)
        if strategy != "vector":
            for where in scopes:
                found = self._keyword.search(f"{query} {keywords}", where, self._depth)
                seen.setdefault("keyword", {}).update(found)
                rankings.append(found)
        if len(rankings) == 1:
            order = [chunk_id for chunk_id, _ in rankings[0]]
            score = dict(rankings[0])
        else:
            score = reciprocal_rank_fusion([[chunk_id for chunk_id, _ in r] for r in rankings])
            seen["fused"] = score
            order = best_first(score)
        passages = self._library.passages(order[:limit])
        return [
            Hit(
                passage,
                score[passage.id],
                {name: s[passage.id] for name, s in seen.items() if passage.id in s},
            )
            for passage in passages
        ]
