"""What the tests of readers share: files written and read, the real filings read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from agent.documents.chunking import words
from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.reading import read, read_bytes
from agent.text.sentences import sentences
from traces.records import Chunk

_SHORTEST = 5  # words that make a sentence worth naming; "Not applicable." is often said twice


def parse(name: str, content: str | bytes) -> ParsedDocument:
    """Read ``content`` as a file of this name."""
    return read_bytes(name, content if isinstance(content, bytes) else content.encode())


@lru_cache
def filing(folder: Path, name: str) -> ParsedDocument:
    """A real filing; read once for all tests."""
    return read(folder / "filings" / name)


def shape(document: ParsedDocument) -> list[tuple[str, int, str]]:
    """Kind, level and text of each block."""
    return [(block.kind, block.level, block.text) for block in document.blocks]


def tables(document: ParsedDocument) -> list[Table]:
    return [block.table for block in document.blocks if block.table is not None]


def headings(document: ParsedDocument) -> list[Block]:
    return [block for block in document.blocks if block.kind == "heading"]


def doubled_sentences(document: ParsedDocument, chunks: Sequence[Chunk]) -> list[str]:
    """Sentences that the chunks hold more often than the document does, in order.

    A row of a table is no sentence: the same row may stand in two tables.
    """
    lines = (
        line
        for made in chunks
        for line in made.text[made.repeated :].splitlines()
        if made.kind == "text" or " | " not in line
    )
    times = Counter(" ".join(words(sentence)) for line in lines for sentence in sentences(line))
    visible = " ".join(words(document.visible_text))

    def is_doubled(sentence: str, count: int) -> bool:
        if count == 1 or len(sentence.split()) < _SHORTEST:
            return False
        half = len(sentence) // 2  # at the end of a page a running header may stand in the middle
        return count > max(visible.count(part) for part in (sentence[:half], sentence[half:]))

    return [sentence for sentence, count in times.items() if is_doubled(sentence, count)]
