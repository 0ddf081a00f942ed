"""A reader whose passages a reranker ranks."""

from __future__ import annotations

from collections.abc import Sequence

from models.protocols import Span
from models.ranked_reader import RankedReader
from models.scripted import WordReader

_QUESTION = "Who supplies them?"


class _Shortest:
    """The shorter the passage, the better."""

    name = "shortest"

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        return [1 / (1 + len(passage)) for passage in passages]


_RANKED = RankedReader(WordReader({_QUESTION: ("Tolvang", 0.9)}), _Shortest())


def test_the_reranker_ranks_and_the_reader_marks() -> None:
    first, second = _RANKED.read(_QUESTION, ["Tolvang supplies them.", "Why?"])
    assert (first.probability, second.probability) == (1 / 23, 1 / 5)
    assert (first.spans, second.spans) == ((Span(0, 7, 0.9),), ())
    assert _RANKED.read(_QUESTION, []) == []
    assert _RANKED.name == "shortest"


def test_claims_are_the_readers_to_judge() -> None:
    pairs = [("Tolvang supplies them.", "Tolvang supplies them all."), ("Nobody does.", "Why?")]
    assert _RANKED.support(pairs) == WordReader().support(pairs)
