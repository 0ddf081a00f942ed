"""A reader whose passages another model ranks: one that a person chose, for their language or field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from models.protocols import Loadable, Reader, Reading, Reranker, Support


class RankedReader:
    """A `Reader` that takes each passage's probability from a reranker.

    Args:
        reader: Marks the words, and judges claims.
        reranker: Scores the passages.
    """

    def __init__(self, reader: Reader, reranker: Reranker) -> None:
        self._reader = reader
        self._reranker = reranker

    @property
    def name(self) -> str:
        """The reranker's name, which is what ranks."""
        return self._reranker.name

    def ready(self) -> bool:
        """Whether both are loaded, so that the next call is quick."""
        return all(model.ready() for model in (self._reader, self._reranker) if isinstance(model, Loadable))

    def warm_up(self) -> None:
        """Load both and run them once; meant for a worker thread. Raises `ModelError`."""
        self.read("warm up", ["warm up\nwarm up"])

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """The reader's spans under the reranker's scores."""
        scores = self._reranker.score(question, passages)
        readings = self._reader.read(question, passages)
        return [replace(one, probability=score) for one, score in zip(readings, scores, strict=True)]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As the reader judges."""
        return self._reader.support(pairs)
