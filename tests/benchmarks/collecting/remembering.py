"""The funnel of a collected question, remembering: the paths of a tree make the same searches again."""

from __future__ import annotations

from collections.abc import Sequence

from agent.retrieval.recall import Hit, Recall, Strategy
from models.protocols import Embedder
from traces.library import Library
from traces.records import Scope


class RememberingRecall(Recall):
    """`Recall` that makes no search twice until it is told to forget."""

    def __init__(self, library: Library, embedder: Embedder) -> None:
        super().__init__(library, embedder)
        self._searched: dict[object, list[Hit]] = {}

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

    def forget(self) -> None:
        """Begin anew, with the next question."""
        self._searched = {}
