"""The funnel of a collected question, remembering: the paths of a tree make the same searches again."""

from __future__ import annotations

from collections.abc import Sequence

from agent.retrieval.recall import Hit, Recall, Strategy
from models.protocols import Embedder, Reranker
from traces.library import Library
from traces.records import Scope


class RememberingRecall(Recall):
    """`Recall` that makes no search twice until it is told to forget."""

    def __init__(self, library: Library, embedder: Embedder) -> None:
        super().__init__(library, embedder)
        self._searched: dict[object, list[Hit]] = {}
        self._relevant: dict[object, dict[int, dict[str, float]]] = {}

    def search(
        self,
        query: str,
        strategy: Strategy,
        scopes: Sequence[Scope],
        limit: int,
        *,
        keywords: str = "",
    ) -> list[Hit]:
        """As `Recall` does."""
        key = (query, strategy, tuple(scopes), limit, keywords)
        if key not in self._searched:
            self._searched[key] = super().search(query, strategy, scopes, limit, keywords=keywords)
        return self._searched[key]

    def relevance(self, query: str, ids: Sequence[int]) -> dict[int, dict[str, float]]:
        """As `Recall` does."""
        key = (query, tuple(ids))
        if key not in self._relevant:
            self._relevant[key] = super().relevance(query, ids)
        return self._relevant[key]

    def forget(self) -> None:
        """Begin anew, with the next question."""
        self._searched, self._relevant = {}, {}


class RememberingReranker:
    """A `Reranker` that reads no pair twice until it is told to forget.

    Args:
        reranker: Scores the pairs.
    """

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._known: dict[tuple[str, str], float] = {}

    @property
    def name(self) -> str:
        """The reranker's own."""
        return self._reranker.name

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """As the reranker does."""
        new = [passage for passage in dict.fromkeys(passages) if (query, passage) not in self._known]
        if new:
            scores = self._reranker.score(query, new)
            self._known.update(((query, passage), s) for passage, s in zip(new, scores, strict=True))
        return [self._known[query, passage] for passage in passages]

    def forget(self) -> None:
        """Begin anew, with the next question."""
        self._known.clear()
