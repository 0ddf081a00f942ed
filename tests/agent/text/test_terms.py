"""Keyword terms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from agent.text.terms import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Revenues of Companies", ["revenu", "compani"]),
        ("$26,974 million", ["26974", "million"]),
        ("26974", ["26974"]),
        ("Compute & Networking", ["comput", "network"]),
        ("NVIDIA’s and NVIDIA's", ["nvidia", "nvidia"]),
        ("云浦工厂", ["云浦", "浦工", "工厂"]),
        ("MI300X", ["mi", "300", "x"]),
        ("who is it", ["who", "is", "it"]),  # nothing but function words: kept, so the query lives
        ("", []),
        ("…—!?", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@given(st.text(max_size=200))
def test_any_text_gives_terms_that_keep_the_index_whole(text: str) -> None:
    # Terms are stored joined by spaces: one with a space in it, or an empty one, would come apart.
    found = terms(text)
    assert " ".join(found).split() == found


def test_words_are_stemmed_side_by_side() -> None:
    words = [f"{'ab' * (n % 7)}nation{n}ational" for n in range(2000)]
    letters = str.maketrans("0123456789", "abcdefghij")
    texts = [word.translate(letters) for word in words]
    alone = [snowballstemmer.stemmer("english").stemWord(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(terms, texts))
    assert found == [[stem] for stem in alone]
