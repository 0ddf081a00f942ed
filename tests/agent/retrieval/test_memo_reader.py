"""A reader that reads no pair twice."""

from __future__ import annotations

from unittest.mock import Mock, call

from agent.session import MemoReader
from tests.scripted import WordReader


def test_only_what_is_new_is_read_and_all_comes_in_order() -> None:
    inner = Mock(wraps=WordReader())
    reader = MemoReader(inner)
    passages = ["a fire", "no fire here", "a fire"]
    assert reader.read("fire", passages) == WordReader().read("fire", passages)
    assert reader.read("fire", ["else", "a fire"]) == WordReader().read("fire", ["else", "a fire"])
    assert reader.read("fire", passages) == WordReader().read("fire", passages)
    reader.read("else", ["a fire"])  # another question
    assert inner.read.call_args_list == [
        call("fire", ["a fire", "no fire here"]),
        call("fire", ["else"]),
        call("else", ["a fire"]),
    ]


def test_only_new_claims_and_answers_are_judged() -> None:
    inner = Mock(wraps=WordReader())
    reader = MemoReader(inner)
    burned, sank, rose = ("it burned", "it burned down"), ("it sank", "it burned down"), ("it rose", "no")
    for pairs in ([burned, sank], [sank, rose]):
        assert reader.support(pairs) == WordReader().support(pairs)
        assert reader.judge("What happened?", pairs) == WordReader().judge("What happened?", pairs)
    assert inner.support.call_args_list == [call([burned, sank]), call([rose])]
    reader.judge("And then?", [burned])  # another question
    asked = [("What happened?", [burned, sank]), ("What happened?", [rose]), ("And then?", [burned])]
    assert inner.judge.call_args_list == [call(*one) for one in asked]
