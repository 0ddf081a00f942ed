"""From the network's scores for tokens to the words of a passage that may be the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from models.boxed_reader.windows import Window

Scores = npt.NDArray[np.float32]

MOST_SPANS: Final = 3
_LONGEST = 30  # tokens
_CANDIDATES = 400  # looked at to find those that do not overlap: those beside the best come first
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Words that may be the answer, from offset ``start`` to ``end`` in the passage.

    ``share`` is their uncalibrated probability among all words of their window and "not here".
    """

    start: int
    end: int
    share: float


@dataclass(frozen=True, slots=True)
class Found:
    """The likeliest words of one window, best first, and the log-odds of any words against "not here"."""

    margin: float
    candidates: tuple[Candidate, ...]


def found(window: Window, passage: str, start: Scores, end: Scores) -> Found:
    """The likeliest answers in a window of ``passage``.

    A span's score is the sum of its start's and its end's, as in Devlin et al. (2019); "not here" has the
    scores of ``[CLS]``. The scores of all spans of at most 30 tokens and of "not here" make one softmax.
    """
    count = len(window.offsets)
    nothing = float(start[0] + end[0])
    if not count:
        return Found(-nothing, ())
    first = start[window.body : window.body + count].astype(np.float64)
    last = end[window.body : window.body + count].astype(np.float64)
    whole = np.full((count, min(_LONGEST, count)), -np.inf)
    for length in range(whole.shape[1]):
        whole[: count - length, length] = first[: count - length] + last[length:]
    highest = max(nothing, float(whole.max()))
    here = np.exp(whole - highest)
    somewhere, nowhere = float(here.sum()), float(np.exp(nothing - highest))
    likeliest = np.argsort(here, axis=None)[::-1][:_CANDIDATES]
    shares = here.ravel()[likeliest] / (somewhere + nowhere)
    at = [divmod(int(one), whole.shape[1]) for one in likeliest]
    spans = (
        Candidate(*_whole_words(passage, window.offsets[a][0], window.offsets[a + n][1]), float(share))
        for (a, n), share in zip(at, shares, strict=True)
        if share > 0
    )
    whole_ones = (one for one in spans if _in_one_piece(passage[one.start : one.end]))
    tiny = 1e-12
    return Found(float(np.log(somewhere + tiny) - np.log(nowhere + tiny)), apart(whole_ones))


def apart(candidates: Iterator[Candidate] | Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The first few of ``candidates`` that do not overlap one before them."""
    kept: list[Candidate] = []
    for one in candidates:
        if all(one.end <= other.start or one.start >= other.end for other in kept):
            kept.append(one)
            if len(kept) == MOST_SPANS:
                break
    return tuple(kept)


def _in_one_piece(words: str) -> bool:
    """Whether there are words, in one line, that close every bracket they open, as one cell does."""
    depth = 0
    for sign in words:
        depth += (sign in "([（") - (sign in ")]）")
        if depth < 0 or sign == "\n":
            return False
    return not depth and any(map(str.isalnum, words))


def _whole_words(passage: str, start: int, end: int) -> tuple[int, int]:
    """The span without half a word or half a number at its ends."""
    while start > 0 and _joined(passage, start):
        start -= 1
    while end < len(passage) and _joined(passage, end):
        end += 1
    line = passage.rfind("\n", 0, start) + 1
    for number in _NUMBER.finditer(passage, line):
        if number.start() >= end:
            break
        if number.start() < start < number.end():
            start = number.start()
        if number.start() < end < number.end():
            end = number.end()
    return start, end


def _joined(passage: str, at: int) -> bool:
    """Whether the letters on both sides of a place belong to one word (scripts without spaces aside)."""
    before, after = passage[at - 1], passage[at]
    return before.isalnum() and after.isalnum() and max(before, after) < "\u2e80"
