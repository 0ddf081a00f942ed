"""From the network's token scores to the spans of a passage that may be the answer."""

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
_CANDIDATES = 400  # examined for ones that do not overlap: the best one's neighbours rank high too
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span that may be the answer, from offset ``start`` to ``end`` in the passage.

    ``share`` is its uncalibrated probability among all spans of its window and "not here".
    """

    start: int
    end: int
    share: float


@dataclass(frozen=True, slots=True)
class Found:
    """The likeliest spans of one window, best first, and the log-odds of any span against "not here"."""

    margin: float
    candidates: tuple[Candidate, ...]


def found(window: Window, passage: str, start: Scores, end: Scores) -> Found:
    """The likeliest answers in a window of ``passage``.

    A span's score is the sum of its start and end scores, as in Devlin et al. (2019); "not here" has the
    scores of ``[CLS]``. One softmax covers all spans of at most 30 tokens and "not here".
    """
    count = len(window.offsets)
    not_here = float(start[0] + end[0])
    if not count:
        return Found(-not_here, ())
    first = start[window.body : window.body + count].astype(np.float64)
    last = end[window.body : window.body + count].astype(np.float64)
    sums = np.full((count, min(_LONGEST, count)), -np.inf)
    for length in range(sums.shape[1]):
        sums[: count - length, length] = first[: count - length] + last[length:]
    highest = max(not_here, float(sums.max()))
    weights = np.exp(sums - highest)
    span_mass, not_here_mass = float(weights.sum()), float(np.exp(not_here - highest))
    likeliest = np.argsort(weights, axis=None)[::-1][:_CANDIDATES]
    shares = weights.ravel()[likeliest] / (span_mass + not_here_mass)
    positions = [divmod(int(index), sums.shape[1]) for index in likeliest]
    spans = (
        Candidate(
            *_whole_words(passage, window.offsets[at][0], window.offsets[at + extra][1]), float(share)
        )
        for (at, extra), share in zip(positions, shares, strict=True)
        if share > 0
    )
    complete = (span for span in spans if _is_complete(passage[span.start : span.end]))
    epsilon = 1e-12
    return Found(float(np.log(span_mass + epsilon) - np.log(not_here_mass + epsilon)), apart(complete))


def apart(candidates: Iterator[Candidate] | Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The first `MOST_SPANS` of ``candidates`` that do not overlap an earlier one."""
    selected: list[Candidate] = []
    for candidate in candidates:
        if all(candidate.end <= other.start or candidate.start >= other.end for other in selected):
            selected.append(candidate)
            if len(selected) == MOST_SPANS:
                break
    return tuple(selected)


def _is_complete(text: str) -> bool:
    """Whether the text has words, on one line, and balanced brackets, as a table cell does."""
    depth = 0
    for character in text:
        depth += (character in "([（") - (character in ")]）")
        if depth < 0 or character == "\n":
            return False
    return not depth and any(map(str.isalnum, text))


def _whole_words(passage: str, start: int, end: int) -> tuple[int, int]:
    """The span extended so that it cuts no word or number."""
    while start > 0 and _is_inside_word(passage, start):
        start -= 1
    while end < len(passage) and _is_inside_word(passage, end):
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


def _is_inside_word(passage: str, position: int) -> bool:
    """Whether the characters on both sides of a position are in one word (scripts without spaces aside)."""
    before, after = passage[position - 1], passage[position]
    return before.isalnum() and after.isalnum() and max(before, after) < "\u2e80"
