"""The bounds hold for the texts that people keep, by a real tokenizer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from models.llama_cpp.chat import LlamaCppChat
from models.token_estimate import at_least, at_most
from traces import paths

_QWEN = paths.models_dir() / "qwen2.5-coder-0.5b"  # read before any test moves the home

TEXTS = {
    "prose": "The village kept its goats on the hill until the winter, and nobody minded. " * 8,
    "figures": "| 2023-01-29 | $26,974 | (4,332) | 61.1% |\n" * 8,
    "code": "def total(items: list[int]) -> int:\n    return sum(x for x in items if x > 0)\n" * 4,
    "chinese": "这是一个关于公司年度财务报告的问题。" * 6,
    "german": "Die Donaudampfschifffahrt übertrifft größere Gesellschaften. " * 6,
    "russian": "Система отвечает на вопросы по вашим документам. " * 6,
    "emoji": "🚀 hello 😀 👍🏽 " * 6,
    "links": "https://www.example.com/a/b?id=9f8a7b6c5d&utm=xyz " * 6,
    "blank lines": "one\n\n\n\ntwo\n\n        three\n" * 6,
}


@pytest.fixture(scope="module")
def large_vocabulary() -> Iterator[LlamaCppChat]:
    """A model with more than 100,000 tokens; the other tests' has fewer, and more tokens a word."""
    file = next(_QWEN.glob("*.gguf"))
    chat = LlamaCppChat(file, name="large", context_tokens=512)
    yield chat
    chat.close()


@pytest.mark.model
@pytest.mark.parametrize("kind", TEXTS)
def test_bounds(large_vocabulary: LlamaCppChat, kind: str) -> None:
    text = TEXTS[kind]
    assert at_least(text) <= large_vocabulary.count_tokens(text) <= at_most(text)


def test_nothing_is_nearly_nothing() -> None:
    assert at_least("") == 0
    assert at_most("") == 1
    assert at_most("apple " * 1000) <= 1001
    assert at_least("apple " * 1000) == 900
