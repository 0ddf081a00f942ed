"""Recall: the passages a query brings, by vectors, by keywords, or by both fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.retrieval.fusion import best_first, reciprocal_rank_fusion
from agent.retrieval.keyword import KeywordIndexes
from agent.retrieval.sections import match_sections, mentioned_sections
from models.protocols import Embedder, Vectors
from traces.library import Library
from traces.records import Passage, Scope

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
        scopes: Sequence[Scope],
        limit: int,
        *,
        keywords: str = "",
    ) -> list[Hit]:
        """The ``limit`` best passages for ``query``, best first.

        Args:
            query: One line; embedded as it is, and turned into keyword terms.
            strategy: Which rankings are used.
            scopes: Where to look. With several, the rankings of each are fused: a passage that stands
                in all of them rises, and one that stands only in the widest is still found.
            limit: How many to return.
            keywords: Further terms for the keyword ranking.

        Raises:
            EmbedderMismatch: the library was made by another embedder.
        """
        # Embedded before the store is opened: other processes need not wait for that.
        vector = self._embedder.embed_query(query) if strategy != "keyword" else None
        with self._library.together():
            return self._search(query, vector, strategy, scopes, limit, keywords)

    def _search(
        self,
        query: str,
        vector: Vectors | None,
        strategy: Strategy,
        scopes: Sequence[Scope],
        limit: int,
        keywords: str,
    ) -> list[Hit]:
        rankings: list[list[tuple[int, float]]] = []
        seen: dict[str, dict[int, float]] = {}
        if vector is not None:
            for scope in scopes:
                found = self._library.nearest(vector, self._embedder.name, scope, self._depth)
                seen.setdefault("vector", {}).update(found)
                rankings.append(found)
        if strategy != "vector":
            for scope in scopes:
                found = self._keyword.search(f"{query} {keywords}", scope, self._depth)
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


def aim(
    library: Library,
    collections: Sequence[str],
    question: str,
    tool: str,
    section: str,
    *,
    hard: bool,
) -> list[Scope]:
    """The scopes for a step: everywhere asked about, and where the passage is expected.

    It is expected where the planner says, or in the section that the question itself names.

    A planner guesses, and a small one guesses wrong often. So its tool and section only lift what
    they match, unless ``hard`` filters are asked for; even those give way where they match nothing.

    Args:
        library: Knows the stored sections.
        collections: Those the question may use.
        question: The step's question.
        tool: The planner's collection, or "".
        section: The planner's section in its own words, or "".
        hard: Search nowhere else than where the planner says.
    """
    everywhere = Scope(collections=tuple(collections))
    scopes = [everywhere]
    narrow = everywhere
    if tool in collections and len(collections) > 1:
        narrow = Scope(collections=(tool,))
        scopes.append(narrow)
    stored = library.sections(narrow)
    matched = match_sections(section, stored) if section else mentioned_sections(question, stored)
    if matched:
        scopes.append(Scope(collections=narrow.collections, sections=tuple(matched)))
    return scopes[-1:] if hard else scopes
