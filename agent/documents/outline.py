"""Which passages are headings, and their levels.

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

from agent.documents.document import Block, Table

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


@dataclass(frozen=True, slots=True)
class Look:
    """How a passage looks, as far as it helps to tell headings from text."""

    size: float = 0.0
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    coloured: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, list item or table, before headings are found.

    Attributes:
        text: Its text; empty for a table.
        look: How it looks as a whole.
        level: The heading level the format gives it, else 0.
        page: 1-based page (web pages with page breaks have them too).
        table: The cells, for a table.
        item: Whether it is a list item, which is never a heading.
    """

    text: str
    look: Look = Look()
    level: int = 0
    page: int | None = None
    table: Table | None = None
    item: bool = False


def outlined(passages: Sequence[Passage], *, by_look: bool = True) -> list[Block]:
    """The passages as blocks, with headings and their levels.

    Args:
        passages: In reading order.
        by_look: Whether a passage may be a heading by its look alone. If the document uses the heading
            levels of its format, they decide instead.
    """
    numbered, other_lines = _structural(passages)
    native = {index: p.level for index, p in enumerate(passages) if p.level}
    if not by_look or len(native) >= 2:
        deeper = 3 - min(native.values()) if numbered and native else 0
        levels = {index: min(_DEEPEST, level + deeper) for index, level in native.items()} | numbered
    else:
        levels = _by_look(passages, numbered, other_lines) | numbered
    return [_block(passage, levels.get(index, 0)) for index, passage in enumerate(passages)]


def _block(passage: Passage, level: int) -> Block:
    if passage.table is not None:
        return Block("table", page=passage.page, table=passage.table)
    if level:
        return Block("heading", passage.text, level=level, page=passage.page)
    return Block("text", passage.text, page=passage.page)


def _structural(passages: Sequence[Passage]) -> tuple[dict[int, int], set[int]]:
    """Levels of the ``Part`` and ``Item`` lines that begin their section, and the other such lines.

    The same line also appears in the table of contents, running headers and cross-references; the one with
    the most text below it begins the section.
    """
    lines = list(_part_and_item_lines(passages))
    starts = [line.index for line in lines if not line.is_item]
    best: dict[tuple[bool, str, str], tuple[int, int]] = {}
    part = ""
    for position, line in enumerate(lines):
        if line.is_item:
            end = lines[position + 1].index if position + 1 < len(lines) else len(passages)
        else:
            part = line.number
            end = next((start for start in starts if start > line.index), len(passages))
        weight = sum(_words(passage) for passage in passages[line.index + 1 : end])
        key = (line.is_item, part, line.number)
        if key not in best or weight >= best[key][0]:
            best[key] = (weight, line.index)
    if sum(is_item for is_item, _, _ in best) < _FEWEST_ITEMS:
        return {}, set()
    levels = {index: 2 if key[0] else 1 for key, (_, index) in best.items()}
    last = max(levels)
    levels |= {
        index: 2
        for index, passage in enumerate(passages)
        if index > last and _may_head(passage) and _AFTER_ITEMS.fullmatch(passage.text)
    }
    return levels, {line.index for line in lines} - set(levels)


@dataclass(frozen=True, slots=True)
class _NumberedLine:
    index: int
    is_item: bool
    number: str


def _part_and_item_lines(passages: Sequence[Passage]) -> Iterator[_NumberedLine]:
    for index, passage in enumerate(passages):
        if not _may_head(passage):
            continue
        if (match := _PART.fullmatch(passage.text)) and _is_title(match["title"], passage):
            yield _NumberedLine(index, False, match["number"].upper())
        elif match := _ITEM.fullmatch(passage.text):
            title = match["title"]
            is_short = (
                len(title.split()) <= 30 and title[:1].isupper() and not _ENDS_WITH_PAGE.search(title)
            )
            if _is_title(title, passage) or (match["mark"] and is_short):
                yield _NumberedLine(index, True, match["number"].replace(" ", "").upper())


def _words(passage: Passage) -> int:
    if passage.table is not None:
        return sum(len(cell.split()) for row in passage.table.rows for cell in row)
    return len(passage.text.split())


def _is_title(title: str, passage: Passage) -> bool:
    """Whether ``title``, after "Part II" or "Item 7.", is that of a heading."""
    if not title:
        return True
    stands_out = passage.look.bold or title.isupper()
    return stands_out and len(title.split()) <= 40 and not _ENDS_WITH_PAGE.search(title)


def _may_head(passage: Passage) -> bool:
    text = passage.text
    return (
        passage.table is None
        and not passage.item
        and len(text) <= 300
        and sum(2 if ord(letter) > 0x2E7F else 1 for letter in text if letter.isalpha()) > 2
        and not text.startswith(("(", "•", "*", "☐", "☒"))
        and not text.endswith((",", ";", "-"))
    )


def _by_look(
    passages: Sequence[Passage], numbered: dict[int, int], other_lines: set[int]
) -> dict[int, int]:
    """Levels of the passages that look like headings."""
    size, plain = _body(passages)
    ranks = {
        index: _rank(passage)
        for index, passage in enumerate(passages)
        if index not in numbered
        and index not in other_lines
        and _may_head(passage)
        and _stands_out(passage, size, plain)
    }
    largest: dict[str, float] = {}  # the size of each line, in lower case
    for index in ranks:
        line = passages[index].text.casefold()
        largest[line] = max(largest.get(line, 0.0), passages[index].look.size)
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
        if next_index in numbered or next_index == len(passages) or ranks.get(next_index, rank) < rank:
            continue  # nothing below it: a line of a cover page, a date
        if alike_below:
            text = passages[index].text
            is_headline = len(text.split()) > 10 or any(map(str.isdigit, text))
            if is_headline or _count_alike(index, ranks, -1) + alike_below > _MOST_ALIKE:
                continue
            if largest[text.casefold()] > passages[index].look.size:
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


def _body(passages: Sequence[Passage]) -> tuple[float, bool]:
    """The size of most text, and whether bold is rare enough to mark headings."""
    sizes: Counter[float] = Counter()
    bold = 0
    for passage in passages:
        if passage.table is None:
            sizes[passage.look.size] += len(passage.text)
            bold += len(passage.text) * passage.look.bold
    if not sizes:
        return 0.0, True
    return sizes.most_common(1)[0][0], bold < 0.4 * sizes.total()


def _stands_out(passage: Passage, size: float, plain: bool) -> bool:
    look, text = passage.look, passage.text
    words = len(text.split())
    if look.size > size * 1.1 and words <= (12 if text.endswith(".") else 25):
        return True
    if look.size < size * 0.9 or words > 45:
        return False
    if look.bold and plain:
        return not text.endswith(":") or words <= 8
    return (look.italic or look.underlined) and words <= 15 and not text.endswith((".", ":"))


def _rank(passage: Passage) -> _Rank:
    """A sorting key: smaller ranks contain larger ones."""
    look = passage.look
    return (
        -look.size,
        not look.bold,
        not look.coloured,
        not (passage.text.isupper() and " " in passage.text),
        look.italic or look.underlined,
        0,
    )


def without_breaks(passages: Sequence[Passage]) -> list[Passage]:
    """The passages, joining paragraphs that were split by a page break."""
    merged: list[Passage] = []
    for passage in passages:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.page != passage.page
            and last.table is None
            and passage.table is None
            and not passage.item
            and last.look.bold == passage.look.bold
            and last.text[-1:] not in ".!?:;。！？：；"
            and (passage.text[:1].islower() or last.text.endswith(","))
        ):
            merged[-1] = replace(last, text=f"{last.text} {passage.text}")
        else:
            merged.append(passage)
    return merged
