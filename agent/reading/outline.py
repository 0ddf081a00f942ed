"""Which passages are headings, and how deep.

Filings and most PDFs mark a heading only by how it looks, so looks are ranked against each other:
larger before smaller, bold before italic, coloured before black. ``Part II`` and ``Item 7.`` are
known by their words and give the outermost levels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.reading.document import Block, Table

_PART = re.compile(r"part\s+(?P<number>[ivx]{1,4})\b[.:\s–—-]*(?P<title>.*)", re.IGNORECASE)
_ITEM = re.compile(
    r"item\s+(?P<number>\d{1,2}\s?[a-c]?)(?:\b|(?<=\d))\s*(?P<mark>[.:–—-]*)\s*(?P<title>.*)",
    re.IGNORECASE,
)
_ENDS_WITH_PAGE = re.compile(r"(?:\.{2,}|\s)\s*\d{1,3}$")
_FEWEST_ITEMS = 3  # fewer, and "Item 2" is a line in somebody's list
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Look:
    """How a passage looks, as far as that tells headings from text."""

    size: float = 0.0
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    coloured: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, list item or table before it is known whether it is a heading.

    Attributes:
        text: Its words; empty for a table.
        look: How all of it looks.
        level: The level the format itself gives a heading, else 0.
        page: 1-based page (of a long web page too, where print marks break it).
        table: The cells, for a table.
        item: It is an item of a list, and never a heading.
    """

    text: str
    look: Look = Look()
    level: int = 0
    page: int | None = None
    table: Table | None = None
    item: bool = False


def outlined(passages: Sequence[Passage]) -> list[Block]:
    """The passages as blocks, the headings among them found and given their levels."""
    levels = _structural(passages)
    base = 1
    if levels:
        base = 3
    elif sum(passage.level > 0 for passage in passages) < 2:
        levels = {}
    native = {i: p.level for i, p in enumerate(passages) if p.level}
    if len(native) >= 2:
        deeper = base - min(native.values()) if base > 1 else 0
        levels = {i: min(_DEEPEST, level + deeper) for i, level in native.items()} | levels
    else:
        levels = _by_look(passages, levels, base) | levels
    return [_block(passage, levels.get(i, 0)) for i, passage in enumerate(passages)]


def _block(passage: Passage, level: int) -> Block:
    if passage.table is not None:
        return Block("table", page=passage.page, table=passage.table)
    if level:
        return Block("heading", passage.text, level=level, page=passage.page)
    return Block("text", passage.text, page=passage.page)


def _structural(passages: Sequence[Passage]) -> dict[int, int]:
    """Levels of the ``Part`` and ``Item`` lines that open the part or item they name.

    The same line stands in the table of contents, in running headers and in cross-references; the
    one under which there is most text is the section.
    """
    lines: list[tuple[int, str, str]] = []
    for index, passage in enumerate(passages):
        if passage.table is not None or not _may_head(passage):
            continue
        if (match := _PART.fullmatch(passage.text)) and _titled(match["title"], passage):
            lines.append((index, "part", match["number"].upper()))
        elif (match := _ITEM.fullmatch(passage.text)) and (
            _titled(match["title"], passage) or (match["mark"] and _short(match["title"]))
        ):
            lines.append((index, "item", match["number"].replace(" ", "").upper()))
    best: dict[tuple[str, ...], tuple[int, int]] = {}
    part = ""
    for position, (index, kind, number) in enumerate(lines):
        if kind == "part":
            part = number
        end = lines[position + 1][0] if position + 1 < len(lines) else len(passages)
        weight = sum(_words(passage) for passage in passages[index + 1 : end])
        key = (kind, number) if kind == "part" else (kind, part, number)
        if kind == "part":
            following = lines[position + 1 :]
            after = next((i for i, k, _ in following if k == "part"), len(passages))
            weight = sum(_words(passage) for passage in passages[index + 1 : after])
        if key not in best or weight >= best[key][0]:
            best[key] = (weight, index)
    if len({key for key in best if key[0] == "item"}) < _FEWEST_ITEMS:
        return {}
    return {index: 1 if key[0] == "part" else 2 for key, (_, index) in best.items()}


def _words(passage: Passage) -> int:
    if passage.table is not None:
        return sum(len(cell.split()) for row in passage.table.rows for cell in row)
    return len(passage.text.split())


def _short(title: str) -> bool:
    return len(title.split()) <= 30 and title[:1].isupper() and not _ENDS_WITH_PAGE.search(title)


def _titled(title: str, passage: Passage) -> bool:
    """Whether a line that begins like a part or an item ends like one."""
    if not title:
        return True
    stands_out = passage.look.bold or title.isupper()
    return stands_out and len(title.split()) <= 40 and not _ENDS_WITH_PAGE.search(title)


def _may_head(passage: Passage) -> bool:
    text = passage.text
    return (
        passage.table is None
        and not passage.item
        and 2 <= len(text) <= 300
        and any(character.isalpha() for character in text)
        and not text.startswith(("(", "•", "*", "☐", "☒"))
        and not text.endswith((",", ";", "-"))
    )


def _by_look(passages: Sequence[Passage], known: dict[int, int], base: int) -> dict[int, int]:
    """Levels of the passages that look like headings."""
    size, plain = _body(passages)
    found = {
        index: _rank(passage)
        for index, passage in enumerate(passages)
        if index not in known and _may_head(passage) and _stands_out(passage, size, plain)
    }
    start = min(known, default=0)
    for _ in range(2):  # once with all, once without those that turned out to head nothing
        ranks = sorted({rank for index, rank in found.items() if index >= start})
        levels = {
            index: min(_DEEPEST, base + sum(other < rank for other in ranks))
            for index, rank in found.items()
        }
        idle = _heading_nothing(passages, levels, known)
        found = {index: rank for index, rank in found.items() if index not in idle}
    return {index: level for index, level in levels.items() if index in found}


def _body(passages: Sequence[Passage]) -> tuple[float, bool]:
    """The size most text has, and whether bold is rare enough to mean something."""
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
    if look.size > size * 1.1 and words <= 25:
        return True
    if look.size < size * 0.9 or words > 45:
        return False
    if look.bold and plain:
        return not text.endswith(":") or words <= 8
    return (look.italic or look.underlined) and words <= 15 and not text.endswith((".", ":"))


def _rank(passage: Passage) -> tuple[float, bool, bool, bool, bool]:
    """A sorting key: what comes first stands above the rest."""
    look = passage.look
    return (
        -look.size,
        not look.bold,
        not look.coloured,
        not (passage.text.isupper() and " " in passage.text),
        look.italic or look.underlined,
    )


def _heading_nothing(
    passages: Sequence[Passage], levels: dict[int, int], known: dict[int, int]
) -> set[int]:
    """Headings with nothing under them, such as the lines of a cover page."""
    every = levels | known
    order = sorted(every)
    idle: set[int] = set()
    for index, after in zip(order, [*order[1:], len(passages)], strict=True):
        if index in known or after > index + 1:
            continue
        if after == len(passages) or every[after] <= every[index]:
            idle.add(index)
    return idle


def without_breaks(passages: Sequence[Passage]) -> list[Passage]:
    """The passages with paragraphs that a page's end cut in two made whole."""
    whole: list[Passage] = []
    for passage in passages:
        last = whole[-1] if whole else None
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
            whole[-1] = replace(last, text=f"{last.text} {passage.text}")
        else:
            whole.append(passage)
    return whole
