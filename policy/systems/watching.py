"""Recall, watched: how far the gold evidence came is seen from what the searches bring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.retrieval.recall import Hit, Recall, Strategy
from models.protocols import Embedder
from policy.systems.cases import Place
from traces.library import Library
from traces.records import Scope

FIRST = 100
"""As many hits of a search are looked at to tell whether it asked for the gold evidence at all."""


@dataclass(frozen=True, slots=True)
class Made:
    """A search, and what it brought."""

    query: str
    strategy: Strategy
    scopes: tuple[Scope, ...]
    keywords: str
    hits: Sequence[Hit]


class WatchedRecall(Recall):
    """`Recall` that knows the searches since ``made`` was emptied, and what they brought.

    Args:
        library: Where the passages are.
        embedder: The model that made the library's vectors.
        depth: How many passages each ranking contributes to a fusion.
    """

    def __init__(self, library: Library, embedder: Embedder, depth: int = 50) -> None:
        super().__init__(library, embedder, depth)
        self.made: list[Made] = []

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
        hits = super().search(query, strategy, scopes, limit, keywords=keywords)
        self.made.append(Made(query, strategy, tuple(scopes), keywords, hits))
        return hits

    def brought(self) -> frozenset[Place]:
        """Where the hits stand."""
        return _standing(hit for made in self.made for hit in made.hits)

    def first(self) -> frozenset[Place]:
        """Where the `FIRST` hits of the same searches stand: they are made again, unwatched."""
        return _standing(
            hit
            for made in self.made
            for hit in super(WatchedRecall, self).search(
                made.query, made.strategy, made.scopes, FIRST, keywords=made.keywords
            )
        )


def _standing(hits: Iterable[Hit]) -> frozenset[Place]:
    return frozenset(Place(hit.passage.document, hit.passage.page) for hit in hits)
