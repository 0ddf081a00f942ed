"""A reader that reads no pair twice in a run: after a correction, many passages of a step are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from models.protocols import Reader, Reading, Support

Item = TypeVar("Item")
Result = TypeVar("Result")


class MemoReader:
    """A `Reader` that keeps its readings and judgements."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._results: dict[tuple[Any, ...], Any] = {}

    @property
    def name(self) -> str:
        """The name of the reader."""
        return self._reader.name

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """As the reader does."""
        return self._once(("read", question), passages, partial(self._reader.read, question))

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As the reader does."""
        return self._once(("support",), pairs, self._reader.support)

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As the reader does."""
        return self._once(("judge", question), pairs, partial(self._reader.judge, question))

    def _once(
        self, task: tuple[str, ...], items: Sequence[Item], ask: Callable[[Sequence[Item]], list[Result]]
    ) -> list[Result]:
        """The results for ``items``; the reader is asked only for those that are new."""
        new = [item for item in dict.fromkeys(items) if (task, item) not in self._results]
        if new:
            self._results.update(zip([(task, item) for item in new], ask(new), strict=True))
        return [self._results[task, item] for item in items]
