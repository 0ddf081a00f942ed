"""Chunking: cutting a document into the passages that are embedded, searched and cited.

A passage is in one section and on one page, ends at the end of a sentence, and is short enough for the
embedder to read completely (all-MiniLM-L6-v2 reads 256 tokens, including title and section). A table is one
passage if it fits; otherwise every part repeats caption and header, so that a number always has its row's
label, its column's name and the subject of the table.

`coverage` is the share of a document's text that is in its passages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from operator import eq

from agent.documents.document import Block, ParsedDocument
from agent.documents.prose import is_blank
from agent.documents.table_text import shares, table_parts
from agent.text.language import CJK
from agent.text.sentences import sentences
from models.token_estimate import estimate, split
from traces.records import Chunk

_TARGET_TOKENS = 150
_SLACK = 1.2  # times the target length that prose may reach before it is split
_LONGEST_CAPTION = 60
_LONGEST_HEADING = 300  # characters; a longer one is text: every chunk below it would repeat it
_INTRODUCTION = re.compile(
    r"[:：]$|\b(?:follow(?:s|ing)|below|tables?|summari[sz]\w+|presented|shown|set forth)\b"
    r"|如下|下表|次の|以下",
    re.IGNORECASE,
)
_FULL_STOP = re.compile(r"[.!?。！？][\"”’)\]]*$")

_CJK = f"{CJK}\uf900-\ufaff"  # with compatibility ideographs
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


def chunk(document: ParsedDocument) -> list[Chunk]:
    """The passages of ``document``, in order."""
    chunks = (piece for section, blocks in _sections(document.blocks) for piece in _chunks(section, blocks))
    return [replace(piece, position=position) for position, piece in enumerate(chunks)]


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """The blocks below each heading, with the headings above them.

    A heading with nothing below it becomes text too: "Item 6. [Reserved]" is information.
    """
    blocks = [block for block in blocks if block.kind != "text" or not is_blank(block.text)]
    path: list[Block] = []
    group: list[Block] = []
    for index, block in enumerate(blocks):
        if block.kind != "heading" or len(block.text) > _LONGEST_HEADING:
            group.append(block)
            continue
        if group:
            yield tuple(heading.text for heading in path), group
            group = []
        while path and path[-1].level >= block.level:
            path.pop()
        path.append(block)
        after = blocks[index + 1] if index + 1 < len(blocks) else None
        if after is None or (after.kind == "heading" and after.level <= block.level):
            group.append(Block("text", block.text, page=block.page))
    if group:
        yield tuple(heading.text for heading in path), group


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, or a piece of a long one, and its place in its paragraph."""

    paragraph: str
    number: int
    start: int
    end: int
    tokens: int


def _chunks(section: tuple[str, ...], blocks: Sequence[Block]) -> Iterator[Chunk]:
    prose: list[Block] = []
    caption = ""
    for index, block in enumerate(blocks):
        if block.table is not None:
            yield from _prose(section, prose)
            prose = []
            caption_text = "\n".join(part for part in (caption, block.table.caption) if part)
            for text, repeated in table_parts(block.table, caption_text):
                yield Chunk(0, "table", section, block.page, text, repeated=repeated)
            caption = ""
            continue
        text = block.text
        if index + 1 < len(blocks) and blocks[index + 1].table is not None:
            text, caption = _caption(text)
        if text:
            prose.append(Block("text", text, page=block.page))
    yield from _prose(section, prose)


def _caption(text: str) -> tuple[str, str]:
    """The paragraph above a table, split into text and caption of the table."""
    if estimate(text) <= _LONGEST_CAPTION and (_INTRODUCTION.search(text) or not _FULL_STOP.search(text)):
        return "", text
    last = sentences(text)[-1]
    if estimate(last) <= _LONGEST_CAPTION and _INTRODUCTION.search(last):
        return text[: text.rindex(last)].rstrip(), last
    return text, ""


def _prose(section: tuple[str, ...], blocks: Sequence[Block]) -> Iterator[Chunk]:
    """Paragraphs as chunks of about equal length, none across a page break."""
    for page, group in groupby(blocks, key=lambda block: block.page):
        units = [unit for number, block in enumerate(group) for unit in _units(block.text, number)]
        for batch in shares(
            units,
            lambda unit: unit.tokens,
            _TARGET_TOKENS,
            slack=_SLACK,
            apart=lambda last, unit: last.number != unit.number,
        ):
            yield Chunk(0, "text", section, page, _joined(batch))


def _units(paragraph: str, number: int) -> Iterator[_Unit]:
    position = 0
    for sentence in sentences(paragraph):
        for piece in split(sentence, _TARGET_TOKENS):
            start = paragraph.index(piece, position)
            position = start + len(piece)
            yield _Unit(paragraph, number, start, position, estimate(piece))


def _joined(units: Sequence[_Unit]) -> str:
    """The text of the units in their paragraphs, one line for each paragraph."""
    lines: list[str] = []
    for _, group in groupby(units, key=lambda unit: unit.number):
        paragraph_units = list(group)
        first, last = paragraph_units[0], paragraph_units[-1]
        lines.append(first.paragraph[first.start : last.end])
    return "\n".join(lines)


def coverage(document: ParsedDocument, chunks: Sequence[Chunk]) -> float:
    """The share, 0 to 1, of the visible words and CJK characters that are in ``chunks``.

    Words count as often as they occur, so that a repeated passage does not make up for a missing one.
    A heading counts once, with the first chunk below it; repeated parts of tables do not count.
    """
    document_words = Counter(words(document.visible_text))
    if not document_words:
        return 1.0
    chunk_words: Counter[str] = Counter()
    for text in _unrepeated_texts(chunks):
        chunk_words.update(words(text))
    return (document_words & chunk_words).total() / document_words.total()


def words(text: str) -> Iterator[str]:
    """The words and CJK characters of ``text``, case-folded."""
    return (match.group().casefold() for match in _WORD.finditer(text))


def _unrepeated_texts(chunks: Iterable[Chunk]) -> Iterator[str]:
    """The texts of the chunks without their repeated parts, and each heading once."""
    previous_section: tuple[str, ...] = ()
    for piece in chunks:
        text = piece.text[piece.repeated :]
        new = piece.section[sum(takewhile(bool, map(eq, previous_section, piece.section))) :]
        if new[-1:] == (text,):
            new = new[:-1]  # a heading that is its own text
        yield from new
        yield text
        previous_section = piece.section
