"""Recall: the passages for a query, from fused vector, diversity and keyword rankings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

import numpy as np

from agent.retrieval.fusion import best_first, maximal_marginal_relevance, reciprocal_rank_fusion
from agent.retrieval.keyword import KeywordIndex
from agent.retrieval.nearest import Indexes, VectorIndex
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
_SECTION_WORDS = {"section", "item"}
_LEAST_SIMILARITY = 0.6


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled passage with the score of each stage that ranked it."""

    passage: Passage
    score: float  # that orders the hits: cosine, BM25, or fused
    scores: dict[str, float] = field(default_factory=dict)
    """Score by stage name: ``vector`` (cosine with the query) if the passage has a vector; ``mmr``,
    ``keyword`` and ``fused`` if those rankings contain it, later ``rerank``."""


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
        self._keyword = Indexes(library, "keyword", lambda name: KeywordIndex(library.terms(name)))
        self._vectors = Indexes(
            library,
            ("vectors", embedder.name),
            lambda name: VectorIndex(*library.collection_vectors(name, embedder.name)),
        )

    def search(
        self, query: str, strategy: Strategy, scopes: Sequence[Scope], limit: int, *, keywords: str = ""
    ) -> list[Hit]:
        """The ``limit`` best passages for ``query``, which is one line, best first.

        The strategy is which rankings to use; vectors alone only if every passage has one. The rankings of
        several scopes are fused: a passage in all of them rises, and a passage in only the widest is still
        found. ``keywords`` are more terms for the keyword ranking.
        """
        if self._filters != NO_FILTERS:
            scopes = [replace(scope, filters=self._filters) for scope in scopes]
        # Embed before the store is opened, so that other processes do not wait for it.
        vector = self._embedder.embed_query(query)
        query_terms = terms(f"{query} {keywords}")
        with self._open_with_indexes(scopes) as indexes:
            if strategy == "vector":
                vectors, passage_count = self._library.embedded(self._embedder.name)
                strategy = "vector" if vectors >= passage_count else "hybrid"
            rankings = [
                ranking
                for scope in scopes
                for ranking in self._rankings(vector, query_terms, strategy, scope, indexes)
            ]
            if len(rankings) == 1:
                score = dict(rankings[0].hits)
                order = list(score)
            else:
                score = reciprocal_rank_fusion(
                    [[chunk_id for chunk_id, _ in ranking.hits] for ranking in rankings],
                    [ranking.weight for ranking in rankings],
                )
                order = best_first(score)
            # Another thread may have replaced a document since the indexes were read: its passages are left
            # out.
            passages = self._library.passages(order[:limit])
        scores: dict[int, dict[str, float]] = {passage.id: {} for passage in passages}
        for chunk_id, passage_vector in _vectors(list(scores), indexes.values()).items():
            scores[chunk_id]["vector"] = float(passage_vector @ vector)
        for ranking in rankings:
            for chunk_id, value in ranking.hits:
                if chunk_id in scores:
                    scores[chunk_id][ranking.name] = value
        if len(rankings) > 1:
            for chunk_id, chunk_scores in scores.items():
                chunk_scores["fused"] = score[chunk_id]
        return [Hit(p, score[p.id], scores[p.id]) for p in passages]

    @contextmanager
    def _open_with_indexes(self, scopes: Sequence[Scope]) -> Iterator[dict[str, _CollectionIndex]]:
        """Keep the store open inside the context, with the indexes of the scopes' collections by name."""
        everywhere = not all(scope.collections for scope in scopes)
        names = [] if everywhere else sorted({name for scope in scopes for name in scope.collections})
        with self._library.together():
            embedded = self._library.vector_generations(names)
            generations = self._library.generations(names)
            loaded = {
                name: _CollectionIndex(vectors, keyword)
                for name, generation in generations.items()
                if (vectors := self._vectors.loaded(name, embedded[name]))
                and (keyword := self._keyword.loaded(name, generation))
            }
            if len(loaded) == len(generations):
                yield loaded
                return
        # Building takes long, so other processes may use the store meanwhile.
        built = {
            name: _CollectionIndex(
                self._vectors.load(name, embedded[name]), self._keyword.load(name, generation)
            )
            for name, generation in generations.items()
        }
        with self._library.together():
            yield built

    def _rankings(
        self,
        vector: Vectors,
        query_terms: Sequence[str],
        strategy: Strategy,
        scope: Scope,
        indexes: Mapping[str, _CollectionIndex],
    ) -> Iterator[_Ranking]:
        weights = WEIGHTS[strategy]
        within = None if scope.is_whole else self._library.chunk_ids(scope)
        inside = [indexes[name] for name in scope.collections or indexes if name in indexes]
        if "vector" in weights:
            nearest = self._best(index.vectors.nearest(vector, within, self._depth) for index in inside)
            yield _Ranking("vector", nearest, weights["vector"])
            if "mmr" in weights:
                yield _Ranking("mmr", _diverse(vector, nearest, inside), weights["mmr"])
        if "keyword" in weights:
            # Scores of different collections are only roughly comparable: each has its own term statistics.
            hits = self._best(index.keyword.search(query_terms, within, self._depth) for index in inside)
            yield _Ranking("keyword", hits, weights["keyword"])

    def _best(self, hits: Iterable[list[tuple[int, float]]]) -> list[tuple[int, float]]:
        """The best hits of several collections, best first; ties are ordered by id."""
        return sorted(chain.from_iterable(hits), key=lambda hit: (-hit[1], hit[0]))[: self._depth]


@dataclass(frozen=True, slots=True)
class _CollectionIndex:
    vectors: VectorIndex
    keyword: KeywordIndex


@dataclass(frozen=True, slots=True)
class _Ranking:
    """One ranking of the ensemble, within one scope: ``(chunk id, score)``, best first."""

    name: str
    hits: list[tuple[int, float]]
    weight: float


def _diverse(
    vector: Vectors, nearest: Sequence[tuple[int, float]], indexes: Iterable[_CollectionIndex]
) -> list[tuple[int, float]]:
    if not nearest:
        return []
    ids = [chunk_id for chunk_id, _ in nearest]
    vectors = _vectors(ids, indexes)
    picked = maximal_marginal_relevance(vector, np.stack([vectors[chunk_id] for chunk_id in ids]))
    return [(ids[row], value) for row, value in picked]


def _vectors(ids: Sequence[int], indexes: Iterable[_CollectionIndex]) -> dict[int, Vectors]:
    """Chunk id to vector, for the chunks that have one."""
    return {
        chunk_id: vector for index in indexes for chunk_id, vector in index.vectors.vectors(ids).items()
    }


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
    item, wanted_terms = _item(description), set(terms(description)) - _SECTION_WORDS

    def score(heading: str) -> float:
        number = _item(heading)
        if item and number:
            return float(item == number)
        heading_terms = set(terms(heading)) - _SECTION_WORDS - {number}
        if not heading_terms or not wanted_terms:
            return 0.0
        similarity = 2 * len(heading_terms & wanted_terms) / (len(heading_terms) + len(wanted_terms))
        return similarity if similarity >= _LEAST_SIMILARITY else 0.0

    scores = _outermost(paths, score)
    return [path for path in scores if scores[path] == max(scores.values())]


def mentioned_sections(question: str, paths: Sequence[str]) -> list[str]:
    """The stored section paths whose heading the question mentions.

    "According to the annual report's risk factors, …" names ``Item 1A. Risk Factors``: the question
    contains all terms of the heading, at least two. "Item 7" names its section by number.
    """
    item, question_terms = _item(question), set(terms(question))

    def is_mentioned(heading: str) -> bool:
        heading_terms = set(terms(_ITEM.sub("", heading)))
        by_number = bool(item) and item == _item(heading)
        return by_number or (len(heading_terms) >= 2 and heading_terms <= question_terms)

    return list(_outermost(paths, is_mentioned))


def _item(text: str) -> str:
    """The number of an ``Item`` named in ``text``, in lower case, else ""."""
    match = _ITEM.search(text)
    return match[1].casefold() if match else ""


def _outermost(paths: Sequence[str], score: Callable[[str], float]) -> dict[str, float]:
    """The path of the outermost heading of each path that has a score, with its best score."""
    scores: dict[str, float] = {}
    for path in paths:
        headings = path.split(SECTION_SEPARATOR)
        depth = next((depth for depth, heading in enumerate(headings, start=1) if score(heading)), 0)
        if depth:
            prefix = SECTION_SEPARATOR.join(headings[:depth])
            scores[prefix] = max(score(headings[depth - 1]), scores.get(prefix, 0.0))
    return scores
