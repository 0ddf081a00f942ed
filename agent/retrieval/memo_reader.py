"""A reader that reads no pair twice in a run: after a correction, many passages of a step are the same."""

from __future__ import annotations

from collections.abc import Sequence

from models.protocols import Reader, Reading, Support


class MemoReader:
    """A `Reader` that caches its readings and judgements."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._readings: dict[tuple[str, str], Reading] = {}
        self._support: dict[tuple[str, str], Support] = {}
        self._judged: dict[tuple[str, str, str], Support] = {}

    @property
    def name(self) -> str:
        """The name of the reader."""
        return self._reader.name

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """As the reader does."""
        new = [text for text in dict.fromkeys(passages) if (question, text) not in self._readings]
        if new:
            readings = self._reader.read(question, new)
            self._readings.update(
                ((question, text), reading) for text, reading in zip(new, readings, strict=True)
            )
        return [self._readings[question, text] for text in passages]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As the reader does."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._support]
        if new:
            self._support.update(zip(new, self._reader.support(new), strict=True))
        return [self._support[pair] for pair in pairs]

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As the reader does."""
        new = [pair for pair in dict.fromkeys(pairs) if (question, *pair) not in self._judged]
        if new:
            judgements = self._reader.judge(question, new)
            self._judged.update(
                ((question, *pair), support) for pair, support in zip(new, judgements, strict=True)
            )
        return [self._judged[question, *pair] for pair in pairs]

    def forget(self) -> None:
        """Clear the cache, before another question."""
        self._readings.clear()
        self._support.clear()
        self._judged.clear()
