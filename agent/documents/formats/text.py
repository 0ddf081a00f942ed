"""Plain text: paragraphs between blank lines, and texts that look like headings, lists or tables.

Source code and settings stay as they are, split before unindented lines. Rich text (RTF) becomes plain text
by striprtf; its headings are found by paragraph styles, its tables by rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median

from agent.documents.cover import is_date
from agent.documents.document import Block, Look, ParsedDocument, Table
from agent.documents.encoding import decode
from agent.documents.outline import outlined
from agent.documents.prose import bulleted, is_blank, is_marker, joined, mended, normal, words_of
from agent.documents.tables import Cell, build_table, is_value
from agent.text.language import language

_UNDERLINE = re.compile(r"={3,}|-{3,}|~{3,}|\*{3,}")
_RULE = re.compile(r"[\s\-=_+|.*~]+")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_].*")
_CHAPTER = re.compile(r"第\s*[一二三四五六七八九十百零〇\d]{1,5}\s*(?P<kind>[编部篇章节節条])\s?.{0,40}")
_LONGEST_HEADING = 100  # characters
_MOST_WORDS = 12  # of a heading in capitals
_SENTENCE_ENDS = (".", ",", ";", ":", "。", "，", "；", "：")
_MOST_ALIKE = 2  # lines in capitals directly below each other; more are a list or the lines of a cover
_BULLET = re.compile(r"[•●▪◦‣*+-]\s")
_ITEM = re.compile(r"\s*(?:[•●▪◦‣*+-]|\(?(?:\d{1,3}|[a-z])[.)])\s+\S")
_CELLS = re.compile(r"\S+(?: \S+)*")
_CHARACTER_WIDTH = 6.0  # points per character, so that the table code's measures for PDF apply
_FULL_STOP = re.compile(r"[.!?][\"'”’)\]]*$")
_WIDEST_SPACE = 3 * _CHARACTER_WIDTH  # the widest gap in justified text, or after a full stop
_FEWEST_ALIGNED = 4  # rows; in fewer rows, gaps may align by chance
_SHORTEST_WRAPPED = 35  # characters; shorter lines were broken on purpose
_AMPLE = 0.75  # share of a paragraph's width up to which a wrapped line would have taken the next word too

# A style sheet's entry for a heading; the names are in English whatever the language of the document.
_HEADING = re.compile(r"\{\\s(\d+)[^{}]*?\bheading ([1-6]);\}", re.IGNORECASE)
_PROPERTY = re.compile(r"\{\\(title|author) ([^{}]*)\}")
_MARKS = "\x01\x02\x03\x04\x05\x06"  # inserted before a heading, one for each level


def read_text(_path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as plain text."""
    text = decode(data)
    text = mended(text, words_of(text))
    lines = text.replace("\f", "\n\n").expandtabs(8).split("\n")
    blocks = list(_decided(list(_blocks(lines)), language(text)))
    return ParsedDocument(tuple(outlined(blocks, by_look=False)), text)


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    for blank, group in groupby(lines, key=is_blank):
        if blank:
            continue
        paragraph = list(group)
        if table := _table(paragraph):
            yield Block("table", table=table)
            continue
        line = normal(paragraph[0])
        if _BULLET.match(line):
            pass
        elif len(paragraph) > 1 and _UNDERLINE.fullmatch(paragraph[1].strip()):
            yield Block("text", line, 1 if paragraph[1].strip()[0] == "=" else 2, look=Look(bold=True))
            paragraph = paragraph[2:]
        elif chapter := len(paragraph) == 1 and _CHAPTER.fullmatch(line):
            yield Block("text", line, 1 if chapter["kind"] in "编部篇章" else 2, look=Look(bold=True))
            continue
        elif len(paragraph) == 1 and len(line) <= _LONGEST_HEADING and not line.endswith(_SENTENCE_ENDS):
            yield Block("text", line, 2, item=True)
            continue
        yield from _prose(paragraph)


def _decided(blocks: Sequence[Block], language_code: str) -> Iterator[Block]:
    """The blocks; a line alone, an item of level 2 so far, is a heading or text by what is around it.

    A heading has something below it, and is numbered where the numbering goes on elsewhere, or one of
    several dates, or in capitals without being one of many such lines.
    """
    lines = {index: block.text for index, block in enumerate(blocks) if block.item and block.level}
    dates = {index for index, line in lines.items() if is_date(line, language_code)}
    numbers = {
        index: tuple(map(int, match[1].split(".")))
        for index, block in enumerate(blocks)
        if block.item and index not in dates and (match := _NUMBERED.match(block.text))
    }
    levels: dict[int, int] = {}
    alone = {
        index: number
        for index, number in numbers.items()
        if index in lines
        and index + 1 < len(blocks)
        and len(numbers.get(index + 1, (*number, 1))) > len(number)
        and numbers.get(index - 1) != _next(number, -1)
    }
    known = set(alone.values())
    for index, number in alone.items():
        if known & {_next(number, -1), _next(number, 1), number[:-1], (*number, 1)}:
            levels[index] = len(number) + 1
    entries = [index for index in dates if index + 1 < len(blocks) and index + 1 not in dates]
    levels |= dict.fromkeys(entries if len(entries) > 1 else (), 2)
    capitals = [
        index
        for index, line in lines.items()
        if line.isupper()
        and len(line) > 3
        and len(line.split()) <= _MOST_WORDS
        and index not in numbers
        and index not in dates
    ]
    for _, group in groupby(enumerate(capitals), key=lambda pair: pair[1] - pair[0]):
        run = [index for _, index in group]
        levels |= dict.fromkeys(run if len(run) <= _MOST_ALIKE else (), 2)
    for index, block in enumerate(blocks):
        if index in levels:
            yield replace(block, level=levels[index], look=Look(bold=True), item=False)
        elif index in lines:
            yield from _prose([block.text])
        else:
            yield block


def _next(number: tuple[int, ...], step: int) -> tuple[int, ...]:
    return (*number[:-1], number[-1] + step)


def _table(lines: Sequence[str]) -> Table | None:
    """The paragraph as a table, if the gaps in its lines make columns."""
    rows = [
        [
            Cell(match[0], match.start() * _CHARACTER_WIDTH, match.end() * _CHARACTER_WIDTH)
            for match in _CELLS.finditer(line)
        ]
        for line in lines
        if not _RULE.fullmatch(line)
    ]
    return build_table(rows, exact=False) if len(rows) > 1 and _has_columns(rows) else None


def _has_columns(rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether most rows have gaps that are wide, aligned or followed by values.

    Two spaces after a full stop are gaps too, as are the spaces in justified lines, but they do not align.
    """
    gaps = [gaps for row in rows if (gaps := _gaps(row))]
    if len(gaps) < 0.6 * len(rows):
        return False
    with_values = sum(any(is_value(cell.text) for cell in row[1:]) for row in rows)
    wide = sum(any(end - start > _WIDEST_SPACE for start, end in row) for row in gaps)
    (_, aligned), *_ = Counter(end for row in gaps for _, end in row).most_common(1)
    return (
        with_values > len(gaps) / 2
        or wide >= 0.6 * len(rows)
        or aligned >= max(0.6 * len(rows), _FEWEST_ALIGNED)
    )


def _gaps(row: Sequence[Cell]) -> list[tuple[float, float]]:
    """The gaps of a row, except those after a full stop or a list marker."""
    return [
        (cell.end, next_cell.start)
        for number, (cell, next_cell) in enumerate(pairwise(row))
        if not (
            (number == 0 and is_marker(cell.text))
            or (
                next_cell.start - cell.end <= _WIDEST_SPACE
                and _FULL_STOP.search(cell.text)
                and not is_value(next_cell.text)
            )
        )
    ]


def _prose(lines: Sequence[str]) -> Iterator[Block]:
    """List items one by one, wrapped lines as one paragraph, and short lines, as in a poem, as lines.

    A line with ample room for the first word of the next was not wrapped: it is a heading or an entry.
    """
    parts: list[list[str]] = [[]]
    for line in lines:
        if _ITEM.match(line) and parts[-1]:
            parts.append([])
        if line.strip():
            parts[-1].append(line)
    for part in parts:
        if not part:
            continue
        item = _ITEM.match(part[0]) is not None
        lengths = [len(line.strip()) for line in part]
        is_wrapped = max(lengths) > _SHORTEST_WRAPPED and median(lengths) > 0.7 * max(lengths)
        if item or is_wrapped or len(part) < 3:
            wrapped = [joined(map(normal, group)) for group in _wrapped(part, max(lengths))]
            yield Block("text", bulleted("\n".join(wrapped)), item=item)
        else:
            yield Block("text", "\n".join(line.rstrip() for line in part))


def _wrapped(lines: Sequence[str], width: int) -> list[list[str]]:
    """The lines in groups that are each one wrapped line, in a paragraph of that ``width``."""
    groups = [[lines[0]]]
    for line, next_line in pairwise(lines):
        with_next_word = len(line) + len(next_line.split()[0]) + 1
        is_indented = next_line[0].isspace()  # as the further lines of an item are
        if width > _SHORTEST_WRAPPED and not is_indented and with_next_word <= _AMPLE * width:
            groups.append([])
        groups[-1].append(next_line)
    return groups


def read_source_code(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as source code; the title is the full file name."""
    text = decode(data)
    lines = [line.rstrip() for line in text.expandtabs(4).splitlines()]
    blocks = tuple(Block("text", stretch) for stretch in _stretches(lines))
    return ParsedDocument(blocks, text, title=path.name)


def _stretches(lines: Sequence[str]) -> Iterator[str]:
    """Stretches of lines, each from an unindented line after an empty one up to the next such line."""
    starts = [
        number
        for number, (previous_line, line) in enumerate(pairwise(["", *lines]))
        if is_blank(previous_line) and line and not line[0].isspace()
    ]
    for start, end in pairwise([0, *(start for start in starts if start), len(lines)]):
        stretch = "\n".join(line for line in lines[start:end] if line)
        if not is_blank(stretch):
            yield stretch


def read_rich_text(_path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as RTF."""
    source = data.decode("latin-1")
    levels = dict(_HEADING.findall(source))

    def mark_heading(style: re.Match[str]) -> str:
        level = levels.get(style[1])
        return f"{style[0]}{_MARKS[int(level) - 1]}" if level else style[0]

    head, separator, body = source.partition(r"\pard")
    lines = _without_markup(
        head + separator + re.sub(r"\\s(\d+)(?![\d-])", mark_heading, body)
    ).splitlines()
    properties = {
        name: normal(_without_markup(rf"{{\rtf1 {value}}}")) for name, value in _PROPERTY.findall(source)
    }
    blocks = outlined(list(_rich_blocks(lines)), by_look=False)
    return ParsedDocument(
        tuple(blocks),
        _without_markup(source),
        title=properties.get("title", ""),
        author=properties.get("author", ""),
    )


def _without_markup(source: str) -> str:
    from striprtf.striprtf import rtf_to_text

    text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    return text


def _rich_blocks(lines: list[str]) -> Iterator[Block]:
    for in_table, group in groupby(lines, key=lambda line: line.endswith("|")):
        if in_table:
            rows = [line.strip(_MARKS)[:-1].split("|") for line in group]
            cells = [[Cell(normal(t), n, n + 1) for n, t in enumerate(row)] for row in rows]
            if table := build_table(cells, exact=True):
                yield Block("table", table=table)
            else:
                yield from (Block("text", normal(" ".join(row))) for row in rows if any(row))
            continue
        for line in group:
            if text := normal(line.strip(_MARKS)):
                level = 1 + _MARKS.find(line[0])
                item = bulleted(text) != text
                yield Block("text", bulleted(text), level=level, item=item)
