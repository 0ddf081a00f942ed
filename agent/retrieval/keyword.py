"""The keyword index of a collection: BM25 over normalised terms, built on first use, kept per generation.

The scores equal those of rank-bm25 to the last bit, because it computes the idf. Its own index has a
dictionary for each chunk and searches every one, which takes gigabytes, and seconds per query, at a million
chunks. Here a query reads only the posting lists of its terms, and an entry takes five or six bytes in two
arrays. bm25s, which computes all scores in advance, takes 60 s to build and 32 ms per query at a million
chunks; this index takes 23 s, and 23 ms for a whole search (`tests/benchmarks/results/scale.md`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agent.retrieval.index_cache import Indexes
from agent.retrieval.nearest import holds
from agent.text.terms import terms
from traces.library import Library
from traces.records import Scope

_SPACE = b" "
_BATCH: Final = 10_000  # documents counted at once: some 30 MB of terms


class Vocabulary:
    """Terms and their numbers, in a few bytes per term. Immutable.

    A Python dictionary takes about 180 bytes per term, at a million chunks more than the posting lists.
    Here the sorted terms are one string of bytes, and bisection finds a term in about ten microseconds,
    a few times per search.

    Args:
        numbers: By term; no term is empty or contains a space.
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        ascending = sorted(numbers)  # of code points, so of their bytes in UTF-8 too
        self._numbers = np.fromiter(map(numbers.__getitem__, ascending), np.int32, len(ascending))
        # Encoded as one string, because a million small ones would set the peak of memory.
        self._text = _encoded(" ".join(ascending)) + _SPACE
        spaces = np.flatnonzero(np.frombuffer(self._text, np.uint8) == ord(_SPACE))
        self._ends = spaces[: len(ascending)].astype(np.min_scalar_type(len(self._text)))

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, term: str) -> int | None:
        """The number of a term; None if it is unknown."""
        encoded = _encoded(term)
        index = bisect_left(range(len(self)), encoded, key=self._term)
        return int(self._numbers[index]) if index < len(self) and self._term(index) == encoded else None

    def _term(self, index: int) -> bytes:
        start = int(self._ends[index - 1]) + 1 if index else 0
        return self._text[start : self._ends[index]]


def _encoded(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")  # input from a terminal may contain half a character


class Postings:
    """The posting lists of a corpus. Immutable, so any thread may read them.

    Args:
        documents: Each document's terms, joined by spaces.

    Attributes:
        documents: The number of documents.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        number: defaultdict[str, int] = defaultdict()
        number.default_factory = number.__len__  # a new term gets the next number
        lengths: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        batch_counts: deque[_TermCounts] = deque()
        first = 0
        for batch in _batches(documents):
            words = [joined.split() for joined in batch]
            batch_lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
            numbers = map(number.__getitem__, chain.from_iterable(words))
            batch_counts.append(
                _TermCounts(
                    np.fromiter(numbers, dtype=np.int64, count=int(batch_lengths.sum())),
                    batch_lengths,
                    first,
                )
            )
            lengths.append(batch_lengths)
            first += len(batch)
        self.documents = first
        self._vocabulary = Vocabulary(number)
        number.clear()  # frees memory before the lists are merged
        self._starts, self._rows, self._counts = _merge(batch_counts, len(self._vocabulary))
        length = np.concatenate(lengths)
        if not len(self._vocabulary):  # rank-bm25 divides by the number of terms
            return
        okapi = _okapi(dict(enumerate(np.diff(self._starts).tolist())), self.documents)
        self._idf = np.fromiter(okapi.idf.values(), dtype=np.float64, count=len(self._vocabulary))
        self._gain = okapi.k1 + 1
        self._brake = okapi.k1 * (1 - okapi.b + okapi.b * length / (int(length.sum()) / self.documents))

    def holding(self, term: str) -> npt.NDArray[np.int32]:
        """The documents that contain a term, by number from 0, ascending."""
        number = self._vocabulary.number(term)
        return self._rows[:0] if number is None else self._rows[self._list(number)]

    def scores(self, query: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The documents that contain a term of the query, ascending, and their scores.

        Args:
            query: Terms; a repeated term counts each time.
        """
        score = np.zeros(self.documents)
        touched = np.zeros(self.documents, dtype=np.bool_)
        for term in query:
            number = self._vocabulary.number(term)
            if number is None:
                continue
            entries = self._list(number)
            rows, frequency = self._rows[entries], self._counts[entries].astype(np.float64)
            score[rows] += self._idf[number] * (frequency * self._gain / (frequency + self._brake[rows]))
            touched[rows] = True
        rows_found = np.flatnonzero(touched)
        return rows_found, score[rows_found]

    def _list(self, number: int) -> slice:
        return slice(*self._starts[number : number + 2])


class _TermCounts:
    """How often each document of a batch contains each term, by term and then by document.

    ``numbers`` are the terms of all documents in a row; ``lengths`` the number of terms of each document.
    """

    def __init__(self, numbers: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], first: int) -> None:
        size = len(lengths)
        pairs, counts = np.unique(numbers * size + np.repeat(np.arange(size), lengths), return_counts=True)
        self.rows = (pairs % size + first).astype(np.int32)
        self.counts = counts.astype(np.min_scalar_type(counts.max(initial=0)))
        self.terms, self.lists = np.unique(pairs // size, return_counts=True)


def _merge(
    batch_counts: deque[_TermCounts], terms: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.unsignedinteger[Any]]]:
    """The start of each term's list, and the joined lists of documents and counts. Empties the deque."""
    starts = np.zeros(terms + 1, dtype=np.int64)
    for batch in batch_counts:
        starts[batch.terms + 1] += batch.lists
    np.cumsum(starts, out=starts)
    dtype = max((batch.counts.dtype for batch in batch_counts), default=np.dtype(np.uint8))
    rows = np.empty(starts[-1], dtype=np.int32)
    counts = np.empty(starts[-1], dtype=dtype)
    next_free = starts[:-1].copy()
    while batch_counts:
        batch = batch_counts.popleft()  # freed with the next batch, so that memory holds the lists once
        offsets = np.cumsum(batch.lists) - batch.lists
        targets = np.repeat(next_free[batch.terms] - offsets, batch.lists) + np.arange(len(batch.rows))
        rows[targets] = batch.rows
        counts[targets] = batch.counts
        next_free[batch.terms] += batch.lists
    return starts, rows, counts


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(documents)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _okapi(frequencies: Mapping[int, int], documents: int) -> Any:
    """rank-bm25's Okapi with its idf and parameters, from the document frequency of each term.

    The terms are in the order of their first occurrence, in which rank-bm25 sums them.
    """
    from rank_bm25 import BM25Okapi

    class Counted(BM25Okapi):  # type: ignore[misc]  # it has no types
        def _initialize(self, corpus: object) -> Mapping[int, int]:
            self.corpus_size = documents
            return frequencies

    return Counted(())


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

        Ties are ordered by id; ``within`` contains the ascending ids to search, None for all.
        """
        rows, scores = self._postings.scores(query)
        ids = self._ids[rows]
        if within is not None:
            in_scope = holds(within, ids)
            ids, scores = ids[in_scope], scores[in_scope]
        if len(ids) > limit:
            # Select before sorting, which is slower.
            is_candidate = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
            ids, scores = ids[is_candidate], scores[is_candidate]
        order = np.lexsort((ids, -scores))[:limit]
        return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))

    def coverage(self, query: Iterable[str], ids: Iterable[int]) -> dict[int, float]:
        """Chunk id to the share of the query's idf that the chunk contains, 0 to 1.

        A term that n of N chunks contain has the idf ``ln(1 + (N - n + 0.5) / (n + 0.5))`` (Robertson and
        Zaragoza, 2009, kept positive as in Lucene). A term in no chunk has the greatest weight, so no chunk
        covers a question about something unknown to the library.

        Args:
            query: Normalised terms; each counts once.
            ids: Chunk ids; those of other collections are ignored.
        """
        chunk_ids = np.array([*ids], dtype=np.int64)
        chunk_ids = chunk_ids[holds(self._ids, chunk_ids)]
        rows = np.searchsorted(self._ids, chunk_ids)
        count = self._postings.documents
        weights: list[float] = []
        presence: list[npt.NDArray[np.bool_]] = []
        for term in dict.fromkeys(query):
            holding = self._postings.holding(term)
            weights.append(math.log(1 + (count - len(holding) + 0.5) / (len(holding) + 0.5)))
            presence.append(holds(holding, rows))
        total = sum(weights)
        if not total:
            return {}
        return {
            chunk_id: sum(w for w, has in zip(weights, presence, strict=True) if has[i]) / total
            for i, chunk_id in enumerate(chunk_ids.tolist())
        }


class KeywordIndexes(Indexes[KeywordIndex]):
    """The keyword indexes of a library, one for each collection. Thread-safe."""

    def __init__(self, library: Library) -> None:
        super().__init__(library.path, "keyword")
        self._library = library

    def search(
        self, query: str, scope: Scope, within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """The best ``limit`` chunks within ``scope``, as `KeywordIndex.search`.

        Scores of different collections are only roughly comparable: each has its own term statistics.
        ``within`` are the ascending chunk ids of ``scope``, if it is narrower than its collections.
        """
        query_terms = terms(query)
        with self._library.together():
            hits: list[tuple[int, float]] = []
            for collection, generation in self._library.generations(scope.collections).items():
                hits.extend(self.load(collection, generation).search(query_terms, within, limit))
        return sorted(hits, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def coverage(self, query: str, passages: Mapping[int, str]) -> dict[int, float]:
        """Chunk id to the share of the query's idf that it contains, by its collection's statistics.

        ``passages`` maps chunk ids to the names of their collections. A missing chunk has the share 0.
        """
        query_terms = terms(query)
        covered = dict.fromkeys(passages, 0.0)
        names = sorted(set(passages.values()))
        with self._library.together():
            for collection, generation in self._library.generations(names).items() if names else ():
                ids = [chunk_id for chunk_id, name in passages.items() if name == collection]
                covered.update(self.load(collection, generation).coverage(query_terms, ids))
        return covered

    def _build(self, collection: str) -> KeywordIndex:
        return KeywordIndex(self._library.terms(collection))
