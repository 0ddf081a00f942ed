"""A reader and a reranker that judge together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from models.boxed_reader import RankedReader
from tests.scripted import WordReader

_QUESTION = "Who supplies them?"


class _Shortest:
    """The shorter the passage, the better."""

    name = "shortest"

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        return [1 / (1 + len(passage)) for passage in passages]


_RANKED = RankedReader(WordReader({_QUESTION: ("Tolvang", 0.9)}), _Shortest())


def test_both_judge_a_passage_and_the_reader_marks_it() -> None:
    marked, without = _RANKED.read(_QUESTION, ["Tolvang supplies them.", "Why?"])
    odds = math.pow(9, 0.9) * math.pow(1 / 22, 0.1)  # of the reader's 0.9 and the reranker's 1/23
    assert marked.probability == pytest.approx(odds / (1 + odds))
    (span,) = marked.spans
    assert (span.start, span.end) == (0, 7)
    assert span.probability == 0.9, "it stays the reader's"
    assert without.spans == ()
    assert _RANKED.read(_QUESTION, []) == []
    assert _RANKED.name == "words with shortest"


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_reranker_that_is_certain_is_not_alone(score: float) -> None:
    class Certain(_Shortest):
        def score(self, query: str, passages: Sequence[str]) -> list[float]:
            return [score] * len(passages)

    reader = WordReader({_QUESTION: ("Tolvang", 0.9)})
    (reading,) = RankedReader(reader, Certain()).read(_QUESTION, ["Tolvang supplies them."])
    assert 0 < reading.probability < 1


def test_claims_are_the_readers_to_judge() -> None:
    pairs = [("Tolvang supplies them.", "Tolvang supplies them all."), ("Nobody does.", "Why?")]
    assert _RANKED.support(pairs) == WordReader().support(pairs)
    assert _RANKED.judge(_QUESTION, pairs) == WordReader().judge(_QUESTION, pairs)
