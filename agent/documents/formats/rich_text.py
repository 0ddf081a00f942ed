"""Rich text (RTF), by striprtf; headings are found by paragraph styles, tables by rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from agent.documents.cover import with_cover
from agent.documents.document import ParsedDocument
from agent.documents.outline import Passage, outlined
from agent.documents.prose import bulleted, normal
from agent.documents.tables import Cell, build_table

# A style sheet's entry for a heading; the names are in English whatever the language of the document.
_HEADING = re.compile(r"\{\\s(\d+)[^{}]*?\bheading ([1-6]);\}", re.IGNORECASE)
_PROPERTY = re.compile(r"\{\\(title|author) ([^{}]*)\}")
_MARKS = "\x01\x02\x03\x04\x05\x06"  # inserted before a heading, one for each level


def read_rich_text(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as RTF."""
    source = data.decode("latin-1")
    levels = dict(_HEADING.findall(source))

    def mark_heading(style: re.Match[str]) -> str:
        level = levels.get(style[1])
        return f"{style[0]}{_MARKS[int(level) - 1]}" if level else style[0]

    head, separator, body = source.partition(r"\pard")
    lines = _text(head + separator + re.sub(r"\\s(\d+)(?![\d-])", mark_heading, body)).splitlines()
    properties = {name: normal(_text(rf"{{\rtf1 {value}}}")) for name, value in _PROPERTY.findall(source)}
    blocks = outlined(list(_passages(lines)), by_look=False)
    document = ParsedDocument(
        tuple(blocks), _text(source), title=properties.get("title", ""), author=properties.get("author", "")
    )
    return with_cover(document, path)


def _text(source: str) -> str:
    from striprtf.striprtf import rtf_to_text

    text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    return text


def _passages(lines: list[str]) -> Iterator[Passage]:
    for in_table, group in groupby(lines, key=lambda line: line.endswith("|")):
        if in_table:
            rows = [line.strip(_MARKS)[:-1].split("|") for line in group]
            cells = [[Cell(normal(t), n, n + 1) for n, t in enumerate(row)] for row in rows]
            if table := build_table(cells, exact=True):
                yield Passage("", table=table)
            else:
                yield from (Passage(normal(" ".join(row))) for row in rows if any(row))
            continue
        for line in group:
            if text := normal(line.strip(_MARKS)):
                level = 1 + max(_MARKS.find(mark) for mark in line[:1])
                item = bulleted(text) != text
                yield Passage(bulleted(text), level=level, item=item)
