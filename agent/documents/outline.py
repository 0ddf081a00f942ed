"""Which blocks are headings, and their levels.

Filings and most PDFs mark a heading only by its look, so looks are ranked against each other: larger
before smaller, bold before italic, coloured before black. ``Part II`` and ``Item 7.`` are recognised by
their words and give the outermost levels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent.documents.document import Block

_PART = re.compile(r"part\s+(?P<number>[ivx]{1,4})\b[.:\s–—-]*(?P<title>.*)", re.IGNORECASE)
_ITEM = re.compile(
    r"item\s+(?P<number>\d{1,2}\s?[a-c]?)(?:\b|(?<=\d))\s*(?P<mark>[.:–—-]*)\s*(?P<title>.*)", re.IGNORECASE
)
_AFTER_ITEMS = re.compile(r"signatures?|exhibit\s+\(?\d{1,3}[.\d]*\)?.{0,12}", re.IGNORECASE)
_ENDS_WITH_PAGE = re.compile(r"(?:\.{2,}|\s)\s*\d{1,3}$")
_FEWEST_ITEMS = 3  # with fewer, "Item 2" is a line in a list
_DEEPEST = 6
_MOST_ALIKE = 2  # headings of one look directly below each other; more are the lines of a cover
_Rank = tuple[float, bool, bool, bool, bool, int]


def outlined(blocks: Sequence[Block], *, by_look: bool = True) -> list[Block]:
    """The blocks, with headings and their levels, and with paragraphs whole across page breaks.

    ``by_look``: a block may be a heading by its look alone, unless the document uses the heading levels of
    its format.
    """
    blocks = _without_breaks(blocks)
    numbered, other_lines = _structural(blocks)
    native = {index: p.level for index, p in enumerate(blocks) if p.level}
    if not by_look or len(native) >= 2:
        deeper = 3 - min(native.values()) if numbered and native else 0
        levels = {index: min(_DEEPEST, level + deeper) for index, level in native.items()} | numbered
    else:
        levels = native | numbered
        levels |= _by_look(blocks, levels, other_lines)
    return [
        block
        if block.table
        else replace(block, kind="heading" if index in levels else "text", level=levels.get(index, 0))
        for index, block in enumerate(blocks)
    ]


def _structural(blocks: Sequence[Block]) -> tuple[dict[int, int], set[int]]:
    """Levels of the ``Part`` and ``Item`` lines that begin their section, and the other such lines.

    The same line also appears in the table of contents, running headers and cross-references; the one with
    the most text below it begins the section.
    """
    lines = list(_part_and_item_lines(blocks))
    starts = [line.index for line in lines if not line.is_item]
    best: dict[tuple[bool, str, str], tuple[int, int]] = {}
    part = ""
    for position, line in enumerate(lines):
        if line.is_item:
            end = lines[position + 1].index if position + 1 < len(lines) else len(blocks)
        else:
            part = line.number
            end = next((start for start in starts if start > line.index), len(blocks))
        weight = sum(_words(block) for block in blocks[line.index + 1 : end])
        key = (line.is_item, part, line.number)
        if key not in best or weight >= best[key][0]:
            best[key] = (weight, line.index)
    if sum(is_item for is_item, _, _ in best) < _FEWEST_ITEMS:
        return {}, set()
    levels = {index: 2 if key[0] else 1 for key, (_, index) in best.items()}
    last = max(levels)
    levels |= {
        index: 2
        for index, block in enumerate(blocks)
        if index > last and _may_head(block) and _AFTER_ITEMS.fullmatch(block.text)
    }
    return levels, {line.index for line in lines} - set(levels)


@dataclass(frozen=True, slots=True)
class _NumberedLine:
    index: int
    is_item: bool
    number: str


def _part_and_item_lines(blocks: Sequence[Block]) -> Iterator[_NumberedLine]:
    for index, block in enumerate(blocks):
        if not _may_head(block):
            continue
        if (match := _PART.fullmatch(block.text)) and _is_title(match["title"], block):
            yield _NumberedLine(index, False, match["number"].upper())
        elif match := _ITEM.fullmatch(block.text):
            title = match["title"]
            is_short = (
                len(title.split()) <= 30 and title[:1].isupper() and not _ENDS_WITH_PAGE.search(title)
            )
            if _is_title(title, block) or (match["mark"] and is_short):
                yield _NumberedLine(index, True, match["number"].replace(" ", "").upper())


def _words(block: Block) -> int:
    if block.table is not None:
        return sum(len(cell.split()) for row in block.table.rows for cell in row)
    return len(block.text.split())


def _is_title(title: str, block: Block) -> bool:
    """Whether ``title``, after "Part II" or "Item 7.", is that of a heading."""
    if not title:
        return True
    stands_out = block.look.bold or title.isupper()
    return stands_out and len(title.split()) <= 40 and not _ENDS_WITH_PAGE.search(title)


def _may_head(block: Block) -> bool:
    text = block.text
    return (
        block.table is None
        and not block.item
        and len(text) <= 300
        and sum(2 if ord(letter) > 0x2E7F else 1 for letter in text if letter.isalpha()) > 2
        and not text.startswith(("(", "•", "*", "☐", "☒"))
        and not text.endswith((",", ";", "-"))
    )


def _by_look(blocks: Sequence[Block], numbered: dict[int, int], other_lines: set[int]) -> dict[int, int]:
    size, plain = _body(blocks)
    ranks = {
        index: _rank(block)
        for index, block in enumerate(blocks)
        if index not in numbered
        and index not in other_lines
        and _may_head(block)
        and _stands_out(block, size, plain)
    }
    largest: dict[str, float] = {}  # the size of each line, in lower case
    for index in ranks:
        line = blocks[index].text.casefold()
        largest[line] = max(largest.get(line, 0.0), blocks[index].look.size)
    floor = 2 if numbered else 0
    levels: dict[int, int] = {}
    ancestors: list[tuple[_Rank, int]] = []
    for index in sorted(ranks.keys() | numbered.keys()):
        if index in numbered:
            floor = numbered[index]
            ancestors = []
            continue
        rank = ranks[index]
        alike_below = _count_alike(index, ranks, 1)
        next_index = index + alike_below + 1
        if next_index in numbered or next_index == len(blocks) or ranks.get(next_index, rank) < rank:
            continue  # nothing below it: a line of a cover page, a date
        if alike_below:
            text = blocks[index].text
            is_headline = len(text.split()) > 10 or any(map(str.isdigit, text))
            if is_headline or _count_alike(index, ranks, -1) + alike_below > _MOST_ALIKE:
                continue
            if largest[text.casefold()] > blocks[index].look.size:
                continue  # the company's name from the cover, repeated over a statement
            rank = (*rank[:-1], -alike_below)  # consecutive headings of one look: each is above the next
        while ancestors and ancestors[-1][0] >= rank:
            ancestors.pop()
        levels[index] = min(_DEEPEST, (ancestors[-1][1] if ancestors else floor) + 1)
        ancestors.append((rank, levels[index]))
    return levels


def _count_alike(index: int, ranks: dict[int, _Rank], step: Literal[1, -1]) -> int:
    """The number of headings of the same look directly after (``step`` 1) or before (-1)."""
    count = 0
    while ranks.get(index + (count + 1) * step) == ranks[index]:
        count += 1
    return count


def _body(blocks: Sequence[Block]) -> tuple[float, bool]:
    """The size of most text, and whether bold is rare enough to mark headings."""
    sizes: Counter[float] = Counter()
    bold = 0
    for block in blocks:
        if block.table is None:
            sizes[block.look.size] += len(block.text)
            bold += len(block.text) * block.look.bold
    if not sizes:
        return 0.0, True
    return sizes.most_common(1)[0][0], bold < 0.4 * sizes.total()


def _stands_out(block: Block, size: float, plain: bool) -> bool:
    look, text = block.look, block.text
    words = len(text.split())
    if look.size > size * 1.1 and words <= (12 if text.endswith(".") else 25):
        return True
    if look.size < size * 0.9 or words > 45:
        return False
    if look.bold and plain:
        return not text.endswith(":") or words <= 8
    return (look.italic or look.underlined) and words <= 15 and not text.endswith((".", ":"))


def _rank(block: Block) -> _Rank:
    """A sorting key: smaller ranks contain larger ones."""
    look = block.look
    return (
        -look.size,
        not look.bold,
        not look.coloured,
        not (block.text.isupper() and " " in block.text),
        look.italic or look.underlined,
        0,
    )


def _without_breaks(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, joining paragraphs that were split by a page break."""
    merged: list[Block] = []
    for block in blocks:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.page != block.page
            and last.table is None
            and block.table is None
            and not block.item
            and last.look.bold == block.look.bold
            and last.text[-1:] not in ".!?:;。！？：；"
            and (block.text[:1].islower() or last.text.endswith(","))
        ):
            merged[-1] = replace(last, text=f"{last.text} {block.text}")
        else:
            merged.append(block)
    return merged
