"""Terms and their numbers."""

from __future__ import annotations

import random

import pytest

from agent.retrieval.vocabulary import Vocabulary


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
