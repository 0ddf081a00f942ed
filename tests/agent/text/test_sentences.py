"""Sentence boundaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Acme Inc. Ltd. pays Mr. Smith. He left.", ["Acme Inc. Ltd. pays Mr. Smith.", "He left."]),
        ("It rose 3.5 percent. In the U.S. It fell.", ["It rose 3.5 percent.", "In the U.S. It fell."]),
        ("第一句。第二句！", ["第一句。", "第二句！"]),
        ("Now it costs 5 euros. £4 before.", ["Now it costs 5 euros.", "£4 before."]),
        ("a line\nanother line", ["a line", "another line"]),
        ("“Quoted.” Then more.", ["“Quoted.”", "Then more."]),
        (
            "Der Vertrag gilt bis zum 31. Dezember. Er wird im 2. Quartal verlängert.",
            ["Der Vertrag gilt bis zum 31. Dezember.", "Er wird im 2. Quartal verlängert."],
        ),
        ("Die Fabrik wurde 2024. Eine zweite folgt.", ["Die Fabrik wurde 2024.", "Eine zweite folgt."]),
        ("The committee has 12. It met in May.", ["The committee has 12.", "It met in May."]),
        ("", []),
        pytest.param(f"{'A. ' * 100_000}B", [f"{'A. ' * 100_000}B"], id="long"),  # in time
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(max_size=300))
def test_no_text_is_lost(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
