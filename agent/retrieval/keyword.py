"""The keyword index of a collection: BM25 over normalised terms, built on first use, kept per generation.

The scores equal those of rank-bm25 to the last bit, because it computes the idf. Its own index has a
dictionary for each chunk and searches every one, which takes gigabytes, and seconds per query, at a million
chunks. Here a query reads only the posting lists of its terms, and an entry takes five or six bytes in two
arrays. bm25s, which computes all scores in advance, takes 60 s to build and 32 ms per query at a million
chunks; this index takes 23 s, and 23 ms for a whole search.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.dtypes import StringDType

from agent.retrieval.fusion import highest

_BATCH: Final = 10_000  # documents counted at once: some 30 MB of terms


class KeywordIndex:
    """BM25 (Okapi, rank-bm25's defaults) over the chunks of one collection.

    Immutable, so any thread may read it. Chunks are rows from 0, and terms have numbers. ``chunks`` are
    ``(chunk id, space-joined terms)``, by id.
    """

    def __init__(self, chunks: Iterable[tuple[int, str]]) -> None:
        number: defaultdict[str, int] = defaultdict()
        number.default_factory = number.__len__  # a new term gets the next number
        ids: list[int] = []
        lengths: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        batch_counts: deque[_TermCounts] = deque()
        remaining = iter(chunks)
        while batch := list(islice(remaining, _BATCH)):
            words = [joined.split() for _, joined in batch]
            batch_lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
            numbers = np.fromiter(
                map(number.__getitem__, chain.from_iterable(words)), np.int64, int(batch_lengths.sum())
            )
            batch_counts.append(_TermCounts(numbers, batch_lengths, len(ids)))
            lengths.append(batch_lengths)
            ids += [chunk_id for chunk_id, _ in batch]
        self._ids = np.array(ids, dtype=np.int64)
        # Sorted, to be found by bisection: a dictionary of a million terms needs ten times the memory.
        ascending = sorted(number)
        self._terms = np.array(ascending, dtype=StringDType())
        self._numbers = np.fromiter(map(number.__getitem__, ascending), np.int32, len(ascending))
        ascending.clear()  # frees memory before the lists are merged
        number.clear()
        self._starts, self._rows, self._counts = _merge(batch_counts, len(self._terms))
        length = np.concatenate(lengths)
        if not len(self._terms):  # rank-bm25 divides by the number of terms
            return
        okapi = _okapi(dict(enumerate(np.diff(self._starts).tolist())), len(ids))
        self._idf = np.fromiter(okapi.idf.values(), dtype=np.float64, count=len(self._terms))
        self._gain = okapi.k1 + 1
        self._brake = okapi.k1 * (1 - okapi.b + okapi.b * length / (int(length.sum()) / len(ids)))

    def search(
        self, query: Sequence[str], within: npt.NDArray[np.int64] | None, limit: int
    ) -> list[tuple[int, float]]:
        """``(chunk id, score)`` of the ``limit`` best chunks that share a term with the query, best first.

        A repeated term of the query counts each time. Ties are ordered by id; ``within`` contains the
        ascending ids to search, None for all.
        """
        ids, scores = self._scores(query)
        if within is not None:
            in_scope = np.isin(ids, within)
            ids, scores = ids[in_scope], scores[in_scope]
        return highest(ids, scores, limit)

    def _scores(self, query: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The ids of the chunks that contain a term of the query, ascending, and their scores."""
        score = np.zeros(len(self._ids))
        touched = np.zeros(len(self._ids), dtype=np.bool_)
        for term in query:
            index = bisect_left(self._terms, term)
            if index == len(self._terms) or self._terms[index] != term:
                continue
            number = self._numbers[index]
            entries = slice(*self._starts[number : number + 2])
            rows, frequency = self._rows[entries], self._counts[entries].astype(np.float64)
            score[rows] += self._idf[number] * (frequency * self._gain / (frequency + self._brake[rows]))
            touched[rows] = True
        found = np.flatnonzero(touched)
        return self._ids[found], score[found]


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
