"""Source code and settings: text as it stands, cut where a stretch begins at the margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from agent.documents.cover import stated_title
from agent.documents.document import Block, ParsedDocument
from agent.documents.encoding import decode
from agent.documents.media_types import CODE
from agent.documents.prose import is_blank


def read_source_code(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as source code; its title is the file's name, ending and all."""
    text = decode(data)
    lines = [line.rstrip() for line in text.expandtabs(4).splitlines()]
    return ParsedDocument(
        title=stated_title(path.name, [], Path()),
        media_type=CODE,
        blocks=tuple(Block("text", stretch) for stretch in _stretches(lines)),
        visible_text=text,
    )


def _stretches(lines: Sequence[str]) -> Iterator[str]:
    """The lines from one that follows an empty one and is not indented up to the next such line."""
    starts = [
        number
        for number, (before, line) in enumerate(pairwise(["", *lines]))
        if is_blank(before) and line and not line[0].isspace()
    ]
    for start, end in pairwise([0, *(start for start in starts if start), len(lines)]):
        stretch = "\n".join(line for line in lines[start:end] if line)
        if not is_blank(stretch):
            yield stretch
