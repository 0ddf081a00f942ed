"""The keyword index of a collection: BM25 over normalised terms, built lazily, kept per generation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from agent.retrieval.kept import Kept, kept
from agent.retrieval.postings import Postings
from agent.retrieval.terms import terms
from traces.library import Library
from traces.records import Generation, Scope


class KeywordIndex:
    """BM25 (Okapi, rank-bm25's defaults) over the chunks of one collection.

    Args:
        rows: ``(chunk id, space-joined terms)``, by id.
    """

    def __init__(self, rows: Iterable[tuple[int, str]]) -> None:
        ids: list[int] = []

        def documents() -> Iterator[str]:
            for chunk_id, joined in rows:
                ids.append(chunk_id)
                yield joined

        self._postings = Postings(documents())
        self._ids = np.array(ids, dtype=np.int64)

    def search(
        self, query: Sequence[str], within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """``(chunk id, score)`` of the ``limit`` best chunks that share a term with the query, best first.

        Args:
            query: Normalised terms.
            within: Chunk ids to look at, ascending; None for all.
            limit: How many to return; of equals the smaller ids.
        """
        rows, scores = self._postings.scores(query)
        ids = self._ids[rows]
        if within is not None:
            inside = _holds(within, ids)
            ids, scores = ids[inside], scores[inside]
        if len(ids) > limit:
            # The best first, cheaply: sorting is for those that may be among them.
            near = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
            ids, scores = ids[near], scores[near]
        order = np.lexsort((ids, -scores))[:limit]
        return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))

    def coverage(self, query: Iterable[str], ids: Iterable[int]) -> dict[int, float]:
        """Chunk id to the share of the query's idf that the chunk's terms hold, 0 to 1.

        A term of the query weighs ``ln(1 + (N - n + 0.5) / (n + 0.5))`` (the idf of Robertson and Zaragoza,
        2009, kept positive as Lucene does), n of the N chunks holding it. So a term that no chunk holds
        weighs most: where the library does not know what is asked about, nothing covers the question.

        Args:
            query: Normalised terms; each counts once.
            ids: Chunk ids; those of other collections are left out.
        """
        asked = np.array([*ids], dtype=np.int64)
        asked = asked[_holds(self._ids, asked)]
        rows = np.searchsorted(self._ids, asked)
        count = self._postings.documents
        weights: list[float] = []
        held: list[npt.NDArray[np.bool_]] = []
        for term in dict.fromkeys(query):
            holding = self._postings.holding(term)
            weights.append(math.log(1 + (count - len(holding) + 0.5) / (len(holding) + 0.5)))
            held.append(_holds(holding, rows))
        total = sum(weights)
        if not total:
            return {}
        return {
            chunk_id: sum(w for w, has in zip(weights, held, strict=True) if has[i]) / total
            for i, chunk_id in enumerate(asked.tolist())
        }


def _holds(ascending: npt.NDArray[np.integer[Any]], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which of the wanted numbers are among the ascending ones."""
    if not len(ascending):
        return np.zeros(len(wanted), dtype=np.bool_)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.asarray(ascending[at] == wanted)


class KeywordIndexes:
    """The indexes of a library, built per collection. Thread-safe."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._kept: Kept[KeywordIndex] = kept(library.path, "keyword")

    def search(
        self, query: str, scope: Scope, within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """The best ``limit`` chunks within ``scope``.

        Scores of several collections are comparable only roughly: each has its own term statistics.

        Args:
            query: Turned into terms as a passage is.
            scope: Where to look.
            within: The chunks of ``scope``, ascending, where it restricts to less than collections.
            limit: How many to return.
        """
        query_terms = terms(query)
        with self._library.together():
            hits: list[tuple[int, float]] = []
            for collection, generation in self._library.generations(scope.collections).items():
                hits.extend(self._index(collection, generation).search(query_terms, within, limit))
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

    def ready(self, collection: str, generation: Generation) -> bool:
        """Whether a search of the collection need not build its index first."""
        return self._kept.has(collection, generation)

    def load(self, collection: str, generation: Generation) -> None:
        """Build the index of a collection, if it is not ready."""
        self._index(collection, generation)

    def _index(self, collection: str, generation: Generation) -> KeywordIndex:
        return self._kept.get(collection, generation, lambda: KeywordIndex(self._library.terms(collection)))
