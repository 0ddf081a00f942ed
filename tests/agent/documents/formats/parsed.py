"""What the tests of readers share: files written and read, the real filings read once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.reading import read


def parse(folder: Path, name: str, content: str | bytes) -> ParsedDocument:
    """Write ``content`` to ``folder`` and read it."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path)


@lru_cache
def filing(folder: Path, name: str) -> ParsedDocument:
    """A real filing; read once for all tests."""
    return read(folder / "filings" / name)


def shape(document: ParsedDocument) -> list[tuple[str, int, str]]:
    """Kind, level and text of each block."""
    return [(block.kind, block.level, block.text) for block in document.blocks]


def tables(document: ParsedDocument) -> list[Table]:
    """The tables, in order."""
    return [block.table for block in document.blocks if block.table is not None]


def headings(document: ParsedDocument) -> list[Block]:
    """The headings, in order."""
    return [block for block in document.blocks if block.kind == "heading"]
