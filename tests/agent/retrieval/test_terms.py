"""Keyword terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retrieval.terms import terms


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
