"""A reader that reads no pair twice."""

from __future__ import annotations

from collections.abc import Sequence

from agent.session import MemoReader
from models.protocols import Reading, Support
from tests.scripted import WordReader


class _Counting(WordReader):
    """Writes down what it is given to read."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[list[str]] = []

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        self.given.append(list(passages))
        return super().read(question, passages)

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        self.given.append([claim for claim, _ in pairs])
        return super().support(pairs)


def test_only_what_is_new_is_read_and_all_comes_in_order() -> None:
    counting = _Counting()
    reader = MemoReader(counting)
    passages = ["a fire", "no fire here", "a fire"]
    assert reader.read("fire", passages) == WordReader().read("fire", passages)
    assert reader.read("fire", ["else", "a fire"]) == WordReader().read("fire", ["else", "a fire"])
    assert reader.read("fire", passages) == WordReader().read("fire", passages)
    assert counting.given == [["a fire", "no fire here"], ["else"]]
    reader.read("else", ["a fire"])  # another question
    assert counting.given[2:] == [["a fire"]]


def test_only_new_claims_and_answers_are_judged() -> None:
    counting = _Counting()
    reader = MemoReader(counting)
    pairs = [("it burned", "it burned down"), ("it sank", "it burned down")]
    more = [*pairs[1:], ("it rose", "no")]
    assert reader.support(pairs) == WordReader().support(pairs)
    assert reader.support(more) == WordReader().support(more)
    assert counting.given == [["it burned", "it sank"], ["it rose"]]
    counting.given.clear()
    assert reader.judge("What happened?", pairs) == WordReader().judge("What happened?", pairs)
    reader.judge("What happened?", more)
    reader.judge("And then?", pairs[:1])  # another question
    assert counting.given == [["it burned", "it sank"], ["it rose"], ["it burned"]]
