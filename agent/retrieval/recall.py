"""Recall: the passages for a query, from fused vector, diversity and keyword rankings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from agent.retrieval.fusion import best_first, maximal_marginal_relevance, reciprocal_rank_fusion
from agent.retrieval.keyword import KeywordIndexes
from agent.retrieval.nearest import VectorIndexes
from agent.text.terms import terms
from models.protocols import Embedder, Vectors
from traces.library import Library
from traces.records import NO_FILTERS, SECTION_SEPARATOR, Filters, Passage, Scope

Strategy = Literal["vector", "keyword", "hybrid"]
WEIGHTS: dict[Strategy, dict[str, float]] = {
    "vector": {"vector": 1.0},
    "keyword": {"keyword": 1.0},
    "hybrid": {"vector": 0.5, "mmr": 0.5, "keyword": 1.0},
}
"""The rankings of each strategy, and their weights in the fusion.

Measured with MiniLM on 800 questions of the HotpotQA, 2Wiki and MuSiQue train files against their pooled
paragraphs, as the mean share of supporting paragraphs in the top 5 and top 10: vector 0.764 and 0.813,
vector with MMR 0.756 and 0.800, keyword 0.755 and 0.819, vector with keyword 0.793 and 0.846, all three
0.796 and 0.848 (with a λ of 0.5 to 0.95: 0.791 to 0.796, and 0.846 to 0.849). MMR does no harm if it shares
the weight of the dense ranking instead of adding to it. With vectors alone it does harm.
"""

_ITEM = re.compile(r"\bitem\s*(\d{1,2}[a-c]?)\b", re.IGNORECASE)
_LEAST_SIMILARITY = 0.6


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled passage with the score of each stage that ranked it.

    Attributes:
        scores: Score by stage name: ``vector`` (cosine with the query) if the passage has a vector;
            ``mmr``, ``keyword`` and ``fused`` if those rankings contain it, later ``rerank``.
    """

    passage: Passage
    score: float  # that orders the hits: cosine, BM25, or fused
    scores: dict[str, float] = field(default_factory=dict)


class Recall:
    """The first stage of the funnel: an ensemble of rankings. Thread-safe.

    Passages without a vector from the embedder are found by keywords. Each ranking contributes ``depth``
    passages to the fusion; ``filters`` replace those of a scope.
    """

    def __init__(
        self, library: Library, embedder: Embedder, depth: int = 50, filters: Filters = NO_FILTERS
    ) -> None:
        self._library = library
        self._embedder = embedder
        self._depth = depth
        self._filters = filters
        self._keyword = KeywordIndexes(library)
        self._vectors = VectorIndexes(library, embedder.name)

    def search(
        self, query: str, strategy: Strategy, scopes: Sequence[Scope], limit: int, *, keywords: str = ""
    ) -> list[Hit]:
        """The ``limit`` best passages for ``query``, best first.

        Args:
            query: One line; embedded, and turned into keyword terms.
            strategy: Which rankings to use; vectors alone only if every passage has one.
            scopes: Where to search. The rankings of several scopes are fused: a passage in all of them
                rises, and a passage in only the widest is still found.
            limit: The number of passages to return.
            keywords: More terms for the keyword ranking.
        """
        if self._filters != NO_FILTERS:
            scopes = [replace(scope, filters=self._filters) for scope in scopes]
        # Embed before the store is opened, so that other processes do not wait for it.
        vector = self._embedder.embed_query(query)
        with self._open_with_indexes(scopes):
            if strategy == "vector":
                vectors, passage_count = self._library.embedded(self._embedder.name)
                strategy = "vector" if vectors >= passage_count else "hybrid"
            rankings = self._rankings(vector, f"{query} {keywords}", strategy, scopes)
            if len(rankings) == 1:
                score = dict(rankings[0].hits)
                order = [chunk_id for chunk_id, _ in rankings[0].hits]
            else:
                score = reciprocal_rank_fusion(
                    [[chunk_id for chunk_id, _ in ranking.hits] for ranking in rankings],
                    [ranking.weight for ranking in rankings],
                )
                order = best_first(score)
            passages = self._library.passages(order[:limit])
            scores = self._cosines(vector, passages)
        for ranking in rankings:
            for chunk_id, value in ranking.hits:
                if chunk_id in scores:
                    scores[chunk_id][ranking.name] = value
        if len(rankings) > 1:
            for chunk_id, chunk_scores in scores.items():
                chunk_scores["fused"] = score[chunk_id]
        return [Hit(p, score[p.id], scores[p.id]) for p in passages]

    @contextmanager
    def _open_with_indexes(self, scopes: Sequence[Scope]) -> Iterator[None]:
        """Load the indexes of the scopes, then keep the store open inside the context."""
        names = sorted({name for scope in scopes for name in scope.collections})
        everywhere = not all(scope.collections for scope in scopes)
        with self._library.together():
            collections = [] if everywhere else names
            embedded, generations = (
                self._library.vector_generations(collections),
                self._library.generations(collections),
            )
            stale = [
                name
                for name, generation in generations.items()
                if not (self._vectors.ready(name, embedded[name]) and self._keyword.ready(name, generation))
            ]
            if not stale:
                yield
                return
        for name in stale:
            self._vectors.load(name, embedded[name])
            self._keyword.load(name, generations[name])
        with self._library.together():
            yield

    def _rankings(
        self, vector: Vectors, words: str, strategy: Strategy, scopes: Sequence[Scope]
    ) -> list[_Ranking]:
        weights = WEIGHTS[strategy]
        rankings: list[_Ranking] = []
        for scope in scopes:
            within = None if scope.is_whole else self._library.chunk_ids(scope)
            if "vector" in weights:
                nearest = self._vectors.nearest(vector, scope, within, self._depth)
                rankings.append(_Ranking("vector", nearest, weights["vector"]))
                if "mmr" in weights:
                    rankings.append(_Ranking("mmr", self._diverse(vector, nearest, scope), weights["mmr"]))
            if "keyword" in weights:
                hits = self._keyword.search(words, scope, within, self._depth)
                rankings.append(_Ranking("keyword", hits, weights["keyword"]))
        return rankings

    def _diverse(
        self, vector: Vectors, nearest: Sequence[tuple[int, float]], scope: Scope
    ) -> list[tuple[int, float]]:
        vectors = self._vectors.vectors([chunk_id for chunk_id, _ in nearest], scope.collections)
        # Another thread may have replaced a document in between: skip missing passages, here and below.
        ids = [chunk_id for chunk_id, _ in nearest if chunk_id in vectors]
        if not ids:
            return []
        picked = maximal_marginal_relevance(vector, np.stack([vectors[i] for i in ids]))
        return [(ids[row], value) for row, value in picked]

    def _cosines(self, vector: Vectors, passages: Sequence[Passage]) -> dict[int, dict[str, float]]:
        collections = sorted({p.collection for p in passages})
        vectors = self._vectors.vectors([p.id for p in passages], collections) if passages else {}
        return {
            p.id: {"vector": float(vectors[p.id] @ vector)} if p.id in vectors else {} for p in passages
        }


@dataclass(frozen=True, slots=True)
class _Ranking:
    """One ranking of the ensemble, within one scope: ``(chunk id, score)``, best first."""

    name: str
    hits: list[tuple[int, float]]
    weight: float


def aim(
    library: Library, collections: Sequence[str], question: str, tool: str, section: str, *, hard: bool
) -> list[Scope]:
    """The scopes for a step: all collections, and the place where the passage is expected.

    That is where the planner says, or a section that the question names. Small planners often guess wrong,
    so their tool and section only raise the rank of passages that match, unless ``hard``; a hard filter is
    ignored if it matches nothing.

    ``tool`` and ``section`` are the planner's, or "". If ``hard``, only they are searched.
    """
    everywhere = Scope(collections=tuple(collections))
    scopes = [everywhere]
    narrow = everywhere
    if tool in collections and len(collections) > 1:
        narrow = Scope(collections=(tool,))
        scopes.append(narrow)
    sections = library.sections(narrow)
    matched = match_sections(section, sections) if section else mentioned_sections(question, sections)
    if matched:
        scopes.append(Scope(collections=narrow.collections, sections=tuple(matched)))
    return scopes[-1:] if hard else scopes


def match_sections(description: str, paths: Sequence[str]) -> list[str]:
    """The stored section paths that ``description`` refers to; empty if none is close.

    ``Item 1A`` matches by its number alone. Otherwise a heading matches by the share of terms that it and
    ``description`` have in common (Dice's coefficient, at least 0.6). The outermost matching heading of a
    path includes everything below it.
    """
    description_terms = set(terms(description)) - {"section", "item"}
    item = _ITEM.search(description)
    matches: dict[str, float] = {}
    for path in paths:
        headings = path.split(SECTION_SEPARATOR)
        for depth, heading in enumerate(headings, start=1):
            score = _score(item.group(1) if item else None, description_terms, heading)
            if score >= _LEAST_SIMILARITY:
                prefix = SECTION_SEPARATOR.join(headings[:depth])
                matches[prefix] = max(score, matches.get(prefix, 0.0))
                break
    if not matches:
        return []
    best = max(matches.values())
    return [path for path, score in matches.items() if score == best]


def mentioned_sections(question: str, paths: Sequence[str]) -> list[str]:
    """The stored section paths whose heading the question mentions.

    "According to the annual report's risk factors, …" names ``Item 1A. Risk Factors``: the question
    contains all terms of the heading, at least two. "Item 7" names its section by number.
    """
    item = _ITEM.search(question)
    question_terms = set(terms(question))
    mentioned: dict[str, None] = {}
    for path in paths:
        headings = path.split(SECTION_SEPARATOR)
        for depth, heading in enumerate(headings, start=1):
            number = _ITEM.search(heading)
            heading_terms = set(terms(_ITEM.sub("", heading)))
            by_number = item and number and item.group(1).casefold() == number.group(1).casefold()
            if by_number or (len(heading_terms) >= 2 and heading_terms <= question_terms):
                mentioned[SECTION_SEPARATOR.join(headings[:depth])] = None
                break
    return list(mentioned)


def _score(item: str | None, wanted_terms: set[str], heading: str) -> float:
    number = _ITEM.search(heading)
    if item and number:
        return 1.0 if item.casefold() == number.group(1).casefold() else 0.0
    heading_terms = set(terms(heading)) - {"section", "item"}
    if number:
        heading_terms.discard(number.group(1).casefold())
    if not heading_terms or not wanted_terms:
        return 0.0
    return 2 * len(heading_terms & wanted_terms) / (len(heading_terms) + len(wanted_terms))
