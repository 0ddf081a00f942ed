"""The keyword index: scores as rank-bm25 gives them, and how much of a question a passage covers."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from agent.retrieval import keyword
from agent.retrieval.keyword import KeywordIndex, KeywordIndexes, Postings, Vocabulary
from tests.agent.made import put
from traces.library import Library
from traces.records import Scope

_INDEX = KeywordIndex([(1, "common rare"), (2, "common x"), (3, "common y"), (4, "z z")])


def test_the_index_follows_the_library(library: Library) -> None:
    indexes = KeywordIndexes(library)
    assert indexes.search("zeppelin", Scope(), None, 5) == []
    put(library, "z", ["A zeppelin lands"])
    ((chunk_id, _),) = indexes.search("zeppelin", Scope(), None, 5)
    assert indexes.coverage("Where did the zeppelin land?", {chunk_id: "news"}) == {chunk_id: 1.0}


def test_search_of_nothing() -> None:
    assert KeywordIndex([]).search(["a"], None, 9) == []
    assert KeywordIndex([(1, "")]).search(["a"], None, 9) == []
    assert KeywordIndex([(1, "a b")]).search([], None, 9) == []
    assert KeywordIndex([(1, "a b"), (2, "c d"), (3, "e f")]).search(["z"], None, 9) == []


def test_the_rarer_term_comes_first() -> None:
    assert next(chunk for chunk, _ in _INDEX.search(["common", "rare"], None, 9)) == 1
    assert [chunk for chunk, _ in _INDEX.search(["common"], np.array([3]), 9)] == [3]


def test_coverage_is_the_share_of_the_querys_idf() -> None:
    common, rare = math.log(1 + 1.5 / 3.5), math.log(1 + 3.5 / 1.5)
    assert _INDEX.coverage(["common", "rare", "rare"], [1, 2, 4]) == pytest.approx(
        {1: 1.0, 2: common / (common + rare), 4: 0.0}
    )


def test_what_no_passage_holds_weighs_most() -> None:
    common, unknown = math.log(1 + 1.5 / 3.5), math.log(1 + 4.5 / 0.5)
    assert _INDEX.coverage(["common", "zeppelin"], [1]) == pytest.approx({1: common / (common + unknown)})


def test_coverage_of_nothing_and_by_strangers() -> None:
    assert _INDEX.coverage([], [1]) == {}
    assert _INDEX.coverage(["common"], [99]) == {}
    assert KeywordIndex([]).coverage(["a"], [1]) == {}
    assert KeywordIndex([(1, "")]).coverage(["a"], [1]) == {1: 0.0}


def test_a_chunk_that_is_gone_covers_nothing(library: Library) -> None:
    indexes = KeywordIndexes(library)
    assert indexes.coverage("bearings", {}) == {}
    assert indexes.coverage("bearings", {99: "reports", 100: "nope"}) == {99: 0.0, 100: 0.0}
    (first, *_) = library.chunk_ids(Scope(collections=("reports",))).tolist()
    assert indexes.coverage("…", {first: "reports"}) == {first: 0.0}


_TERMS = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(st.lists(_TERMS, min_size=1, max_size=6), _TERMS.filter(bool), st.sampled_from("abcdef"))
def test_coverage_is_a_share_that_grows_with_what_is_held(
    documents: list[list[str]], query: list[str], more: str
) -> None:
    index = KeywordIndex([(-1, more), *enumerate(map(" ".join, documents))])
    covered = index.coverage(query, range(len(documents)))
    for row, document in enumerate(documents):
        assert 0.0 <= covered[row] <= 1.0
        if set(query) <= set(document):
            assert covered[row] == 1.0
        for other, smaller in enumerate(documents):
            if set(smaller) <= set(document):
                assert covered[other] <= covered[row]


_SCOPED = st.none() | st.sets(st.integers(0, 8), max_size=8)


@given(st.lists(_TERMS, max_size=9), _TERMS, _SCOPED, st.integers(1, 9))
def test_search_gives_what_rank_bm25_gives(
    documents: list[list[str]], query: list[str], within: set[int] | None, limit: int
) -> None:
    found = KeywordIndex(enumerate(map(" ".join, documents))).search(
        query, None if within is None else np.array(sorted(within), dtype=np.int64), limit
    )
    expected: list[tuple[int, float]] = []
    if any(documents):
        scores = BM25Okapi(documents).get_scores(query)
        expected = [
            (row, float(scores[row]))
            for row, document in enumerate(documents)
            if (within is None or row in within) and not set(query).isdisjoint(document)
        ]
    assert found == sorted(expected, key=lambda pair: (-pair[1], pair[0]))[:limit]


@pytest.mark.parametrize("batch", [1, 7, 1_000])
def test_scores_are_rank_bm25s_to_the_last_bit(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "_BATCH", batch)
    draw = random.Random(batch)
    words = [f"w{int(draw.paretovariate(0.5))}" for _ in range(3_000)]
    documents = [draw.choices(words, k=draw.randrange(60)) for _ in range(120)]
    documents[5] += ["often"] * 300  # more than one byte holds
    index, expected = Postings(map(" ".join, documents)), BM25Okapi(documents)
    for query in (["often"], ["w1", "w2", "w1", "unknown"], draw.choices(words, k=9)):
        rows, scores = index.scores(query)
        assert rows.tolist() == [i for i, d in enumerate(documents) if not set(query).isdisjoint(d)]
        assert np.array_equal(scores, expected.get_scores(query)[rows])


def test_who_holds_a_term() -> None:
    index = Postings(["a b a", "", "b", "a"])
    assert (index.documents, index.holding("a").tolist(), index.holding("z").tolist()) == (4, [0, 3], [])
    assert Postings([]).documents == 0


def test_every_term_has_its_number_and_no_other_word_has_one() -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("aäzß0語𝒜-\ud800", k=draw.randint(1, 5))) for _ in range(2_000)]
    numbers = {word: i for i, word in enumerate(dict.fromkeys(words))}
    vocabulary = Vocabulary(numbers)
    assert len(vocabulary) == len(numbers)
    for word in [*numbers, *(word + "a" for word in numbers), *(word[:-1] for word in numbers)]:
        assert vocabulary.number(word) == numbers.get(word)


@pytest.mark.parametrize("word", ["", " ", "a", "a b", "b\udc80"])
def test_words_that_are_not_there(word: str) -> None:
    assert Vocabulary({}).number(word) is None
    assert Vocabulary({"b": 0, "bb": 1}).number(word) is None
