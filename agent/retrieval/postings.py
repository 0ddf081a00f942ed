"""BM25 over posting lists: the chunks that hold a term, and how often, so that a query reads only those.

The scores are rank-bm25's, to the last bit; its own index keeps a dictionary per chunk and looks into every
one of them, which at a million chunks takes gigabytes and seconds a query. Here a chunk's term is five or
six bytes in two arrays.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agent.retrieval.vocabulary import Vocabulary

_BATCH: Final = 10_000  # documents that are counted at once: some 30 MB of terms


class Postings:
    """The posting lists of a corpus. Never changed once built, so any thread may read it.

    Args:
        documents: Each document's terms, joined by spaces.

    Attributes:
        documents: How many there are.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        number: defaultdict[str, int] = defaultdict()
        number.default_factory = number.__len__  # a new term gets the next one
        lengths: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        counted: deque[_Counted] = deque()
        first = 0
        for batch in _batches(documents):
            words = [joined.split() for joined in batch]
            long = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
            numbers = map(number.__getitem__, chain.from_iterable(words))
            counted.append(
                _Counted(np.fromiter(numbers, dtype=np.int64, count=int(long.sum())), long, first)
            )
            lengths.append(long)
            first += len(batch)
        self.documents = first
        self._vocabulary = Vocabulary(number)
        number.clear()  # before the lists are merged: it is the larger
        self._starts, self._rows, self._counts = _merged(counted, len(self._vocabulary))
        length = np.concatenate(lengths)
        if not len(self._vocabulary):  # rank-bm25 divides by the number of terms
            return
        okapi = _okapi(dict(enumerate(np.diff(self._starts).tolist())), self.documents)
        self._idf = np.fromiter(okapi.idf.values(), dtype=np.float64, count=len(self._vocabulary))
        self._gain = okapi.k1 + 1
        self._brake = okapi.k1 * (1 - okapi.b + okapi.b * length / (int(length.sum()) / self.documents))

    def holding(self, term: str) -> npt.NDArray[np.int32]:
        """The documents that hold a term, by number from 0, ascending."""
        number = self._vocabulary.number(term)
        return self._rows[:0] if number is None else self._rows[self._list(number)]

    def scores(self, query: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The documents that hold a term of the query, ascending, and their scores.

        Args:
            query: Terms; one that stands twice counts twice.
        """
        score = np.zeros(self.documents)
        touched = np.zeros(self.documents, dtype=np.bool_)
        for term in query:
            number = self._vocabulary.number(term)
            if number is None:
                continue
            here = self._list(number)
            rows, often = self._rows[here], self._counts[here].astype(np.float64)
            score[rows] += self._idf[number] * (often * self._gain / (often + self._brake[rows]))
            touched[rows] = True
        found = np.flatnonzero(touched)
        return found, score[found]

    def _list(self, number: int) -> slice:
        return slice(*self._starts[number : number + 2])


class _Counted:
    """How often each document of a batch holds each term, by term and then by document.

    Args:
        numbers: The terms of all its documents, one after the other.
        lengths: How many of them each document has.
        first: The number of its first document.
    """

    def __init__(self, numbers: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], first: int) -> None:
        size = len(lengths)
        pairs, counts = np.unique(numbers * size + np.repeat(np.arange(size), lengths), return_counts=True)
        self.rows = (pairs % size + first).astype(np.int32)
        self.counts = counts.astype(np.min_scalar_type(counts.max(initial=0)))
        self.terms, self.lists = np.unique(pairs // size, return_counts=True)


def _merged(
    counted: deque[_Counted], terms: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.unsignedinteger[Any]]]:
    """Where each term's list starts, and all lists after one another; ``counted`` is emptied meanwhile."""
    starts = np.zeros(terms + 1, dtype=np.int64)
    for batch in counted:
        starts[batch.terms + 1] += batch.lists
    np.cumsum(starts, out=starts)
    kind = max((batch.counts.dtype for batch in counted), default=np.dtype(np.uint8))
    rows = np.empty(starts[-1], dtype=np.int32)
    counts = np.empty(starts[-1], dtype=kind)
    free = starts[:-1].copy()
    while counted:
        batch = counted.popleft()  # let go of at the next one: the lists are not held twice
        before = np.cumsum(batch.lists) - batch.lists
        to = np.repeat(free[batch.terms] - before, batch.lists) + np.arange(len(batch.rows))
        rows[to] = batch.rows
        counts[to] = batch.counts
        free[batch.terms] += batch.lists
    return starts, rows, counts


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    left = iter(documents)
    while batch := list(islice(left, _BATCH)):
        yield batch


def _okapi(holding: Mapping[int, int], documents: int) -> Any:
    """rank-bm25's Okapi, its idf and its parameters, from how many documents hold each term.

    Args:
        holding: By term, in the order in which they first stand in the corpus: its sums go by that.
        documents: How many there are.
    """
    from rank_bm25 import BM25Okapi

    class Counted(BM25Okapi):  # type: ignore[misc]  # it has no types
        def _initialize(self, corpus: object) -> Mapping[int, int]:
            self.corpus_size = documents
            return holding

    return Counted(())
