"""A reader beside a reranker: two models that were taught on different questions, and judge together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from models.protocols import Loadable, Reader, Reading, Reranker, Support


class RankedReader:
    """A `Reader` whose probability of a passage is averaged with a reranker's score, in log-odds.

    The log-odds of a span change by as much as those of its passage.

    Args:
        reader: Marks the words, and judges claims.
        reranker: Scores the passages; its score is taken for a probability.
    """

    def __init__(self, reader: Reader, reranker: Reranker) -> None:
        self._reader = reader
        self._reranker = reranker

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self._reader.name} with {self._reranker.name}"

    def ready(self) -> bool:
        """Whether both are loaded, so that the next call is quick."""
        return all(model.ready() for model in (self._reader, self._reranker) if isinstance(model, Loadable))

    def warm_up(self) -> None:
        """Load both and run them once; meant for a worker thread. Raises `ModelError`."""
        self.read("warm up", ["warm up\nwarm up"])

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """The reader's spans, and probabilities on which both agree."""
        scores = self._reranker.score(question, passages)
        readings = self._reader.read(question, passages)
        return [_together(reading, score) for reading, score in zip(readings, scores, strict=True)]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As the reader judges."""
        return self._reader.support(pairs)

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As the reader judges."""
        return self._reader.judge(question, pairs)


def _together(reading: Reading, score: float) -> Reading:
    change = (_log_odds(score) - _log_odds(reading.probability)) / 2
    spans = tuple(replace(one, probability=_changed(one.probability, change)) for one in reading.spans)
    return Reading(_changed(reading.probability, change), spans)


def _changed(probability: float, change: float) -> float:
    return 1 / (1 + math.exp(-(_log_odds(probability) + change)))


def _log_odds(probability: float) -> float:
    held = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(held / (1 - held))
