"""Coverage as a multiset of words, and sentences that stand twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.documents.chunking import coverage
from agent.documents.document import Chunk, ParsedDocument
from tests.agent.documents.doubled import doubled_sentences

SENTENCE = "The quick brown fox jumps over the dog."


def parsed(visible: str) -> ParsedDocument:
    return ParsedDocument((), visible)


def made(text: str, *section: str, repeated: int = 0, kind: str = "text") -> Chunk:
    return Chunk(text, "table" if kind == "table" else "text", section, None, 0, repeated)


@pytest.mark.parametrize(
    ("visible", "chunks", "share"),
    [
        ("one two three four", [made("One, two! THREE four.")], 1.0),
        ("one two three four", [made("one two")], 0.5),
        ("one two three four", [made("one two"), made("one two")], 0.5),
        ("one one two two", [made("one two")], 0.5),
        ("one two", [made("one two three")], 1.0),
        ("中文的内容", [made("中文")], 0.4),
        ("one two", [], 0.0),
        ("", [], 1.0),
        ("Head one Head two", [made("one", "Head"), made("two", "Head")], 0.75),
        ("Head one Tail two", [made("one", "Head"), made("two", "Tail")], 1.0),
        ("Head", [made("Head", "Head")], 1.0),
        ("Head Head", [made("Head", "Head")], 0.5),
        ("A B a | 1 a | 2", [made("A | B\na | 1"), made("A | B\na | 2", repeated=6)], 1.0),
        ("A B A B c 1", [made("A | B\nc | 1"), made("A | B\nc | 1", repeated=6)], 4 / 6),
    ],
)
def test_coverage(visible: str, chunks: list[Chunk], share: float) -> None:
    assert coverage(parsed(visible), chunks) == pytest.approx(share)


@given(st.text(max_size=200), st.lists(st.text(max_size=50), max_size=5))
def test_coverage_is_a_share(visible: str, texts: list[str]) -> None:
    assert 0.0 <= coverage(parsed(visible), [made(text) for text in texts]) <= 1.0
    assert coverage(parsed(visible), [made(visible)]) == 1.0


@pytest.mark.parametrize(
    ("visible", "chunks", "doubled"),
    [
        (SENTENCE, [made(SENTENCE)], []),
        (SENTENCE, [made(SENTENCE), made(f"More. {SENTENCE}")], [SENTENCE]),
        (f"{SENTENCE} {SENTENCE}", [made(SENTENCE), made(SENTENCE)], []),
        (f"{SENTENCE} The quick brown fox PAGE 3 jumps over the dog.", [made(SENTENCE)] * 2, []),
        ("Not applicable.", [made("Not applicable.")] * 2, []),
        (SENTENCE, [made(SENTENCE), made(f"{SENTENCE}\na | 1", kind="table")], [SENTENCE]),
        (SENTENCE, [made(SENTENCE), made(f"{SENTENCE}\na | 1", repeated=40, kind="table")], []),
        ("a long row of words 1", [made("a long row of words | 1", kind="table")] * 2, []),
        ("这是一个完整的句子。", [made("这是一个完整的句子。")] * 2, ["这是一个完整的句子。"]),
    ],
)
def test_doubled_sentences(visible: str, chunks: list[Chunk], doubled: list[str]) -> None:
    assert doubled_sentences(parsed(visible), chunks) == doubled
