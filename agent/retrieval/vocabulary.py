"""The terms of a corpus and their numbers, in a few bytes a term.

A dictionary of Python's takes some 180 bytes a term, which at a million chunks is more than the posting
lists themselves. Here the terms stand sorted in one string of bytes, and one is found by bisection: about
ten microseconds, a handful of times a search.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np

_SPACE = b" "


class Vocabulary:
    """Terms by number. Never changed once built.

    Args:
        numbers: By term; no term is empty or holds a space.
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        ascending = sorted(numbers)  # of code points, so of their bytes in UTF-8 too
        self._numbers = np.fromiter(map(numbers.__getitem__, ascending), np.int32, len(ascending))
        # One string from the first: a million small ones would be the peak of what a search takes.
        self._text = _encoded(" ".join(ascending)) + _SPACE
        spaces = np.flatnonzero(np.frombuffer(self._text, np.uint8) == ord(_SPACE))
        self._ends = spaces[: len(ascending)].astype(np.min_scalar_type(len(self._text)))

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, term: str) -> int | None:
        """The number of a term; None of one that is not here."""
        wanted = _encoded(term)
        place = bisect_left(range(len(self)), wanted, key=self._term)
        return int(self._numbers[place]) if place < len(self) and self._term(place) == wanted else None

    def _term(self, place: int) -> bytes:
        start = int(self._ends[place - 1]) + 1 if place else 0
        return self._text[start : self._ends[place]]


def _encoded(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")  # a terminal may hand over half a character
