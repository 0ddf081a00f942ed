"""The keyword index of a collection: BM25 over normalised terms, built lazily, kept per generation."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from agent.retrieval.terms import terms
from traces.library import Library
from traces.records import Scope


class KeywordIndex:
    """BM25 (Okapi, rank-bm25's defaults) over the chunks of one collection.

    Args:
        rows: ``(chunk id, space-joined terms)``, by id.
    """

    def __init__(self, rows: Sequence[tuple[int, str]]) -> None:
        from rank_bm25 import BM25Okapi

        self._ids = [chunk_id for chunk_id, _ in rows]
        self._row = {chunk_id: row for row, chunk_id in enumerate(self._ids)}
        documents = [joined.split() for _, joined in rows]
        # rank-bm25 divides by the number of documents, and by their mean length.
        self._bm25 = BM25Okapi(documents) if any(documents) else None
        held = self._bm25.doc_freqs if self._bm25 else ()  # the terms of each document, each once
        self._holding = Counter(chain.from_iterable(held))

    def search(self, query: Sequence[str], within: Sequence[int] | None) -> list[tuple[int, float]]:
        """``(chunk id, score)`` of every chunk that shares a term with the query, best first.

        Args:
            query: Normalised terms.
            within: Chunk ids to look at; None for all.
        """
        if self._bm25 is None or not query:
            return []
        rows = (
            range(len(self._ids))
            if within is None
            else [self._row[chunk_id] for chunk_id in within if chunk_id in self._row]
        )
        wanted = set(query)
        hits = [row for row in rows if not wanted.isdisjoint(self._bm25.doc_freqs[row])]
        if not hits:
            return []
        scores = self._bm25.get_batch_scores(list(query), hits)
        scored = [(self._ids[row], float(score)) for row, score in zip(hits, scores, strict=True)]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))

    def coverage(self, query: Iterable[str], ids: Iterable[int]) -> dict[int, float]:
        """Chunk id to the share of the query's idf that the chunk's terms hold, 0 to 1.

        A term of the query weighs ``ln(1 + (N - n + 0.5) / (n + 0.5))`` (the idf of Robertson and Zaragoza,
        2009, kept positive as Lucene does), n of the N chunks holding it. So a term that no chunk holds
        weighs most: where the library does not know what is asked about, nothing covers the question.

        Args:
            query: Normalised terms; each counts once.
            ids: Chunk ids; those of other collections are left out.
        """
        count = len(self._ids)
        weights = {
            term: math.log(1 + (count - self._holding[term] + 0.5) / (self._holding[term] + 0.5))
            for term in dict.fromkeys(query)
        }
        total = sum(weights.values())
        if self._bm25 is None or not total:
            return {}
        covered: dict[int, float] = {}
        for chunk_id in ids:
            if chunk_id in self._row:
                held = self._bm25.doc_freqs[self._row[chunk_id]]
                covered[chunk_id] = sum(w for term, w in weights.items() if term in held) / total
        return covered


class KeywordIndexes:
    """The indexes of a library, one per collection, rebuilt when it has changed. Thread-safe."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._built: dict[str, tuple[int, KeywordIndex]] = {}

    def search(self, query: str, scope: Scope, limit: int) -> list[tuple[int, float]]:
        """The best ``limit`` chunks within ``scope``.

        Scores of several collections are comparable only roughly: each has its own term statistics.
        """
        query_terms = terms(query)
        with self._library.together():
            restricted = bool(scope.documents or scope.sections)
            within = self._library.chunk_ids(scope) if restricted else None
            hits: list[tuple[int, float]] = []
            for collection, generation in self._library.generations(scope.collections).items():
                hits.extend(self._index(collection, generation).search(query_terms, within))
        return sorted(hits, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def coverage(self, query: str, passages: Mapping[int, str]) -> dict[int, float]:
        """Chunk id to the share of the query's idf that it holds, by the statistics of its own collection.

        Args:
            query: Turned into terms as a passage is.
            passages: Chunk id to the name of its collection. A chunk that is gone covers nothing.
        """
        query_terms = terms(query)
        covered = dict.fromkeys(passages, 0.0)
        names = sorted(set(passages.values()))
        with self._library.together():
            for collection, generation in self._library.generations(names).items() if names else ():
                ids = [chunk_id for chunk_id, name in passages.items() if name == collection]
                covered.update(self._index(collection, generation).coverage(query_terms, ids))
        return covered

    def _index(self, collection: str, generation: int) -> KeywordIndex:
        with self._lock:
            built = self._built.get(collection)
            if built is None or built[0] != generation:
                built = (generation, KeywordIndex(self._library.terms(collection)))
                self._built[collection] = built
            return built[1]
