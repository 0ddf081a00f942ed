"""A reader beside a reranker: two models, trained on different questions, that rank together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from models.protocols import Loadable, Reader, Reading, Reranker, Support


class RankedReader:
    """A `Reader` whose probability of a passage is averaged with a reranker's score, in log-odds.

    Spans keep the reader's probability: a reranker takes what is about the same thing for an answer, so
    with its score the surest spans were right less often (on questions of written passages kept out of
    training an AUROC of 0.56, without it 0.72).

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
    odds = (_log_odds(score) + _log_odds(reading.probability)) / 2
    return Reading(1 / (1 + math.exp(-odds)), reading.spans)


def _log_odds(probability: float) -> float:
    held = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(held / (1 - held))
