"""What is printed on every page and belongs to none: running headers, footers, page numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

_TOP = 4
_BOTTOM = 3
_PAGES = 3  # seen at the edge of this many pages, a line is furniture
_NUMBER = re.compile(r"^\W*(\d{1,4})\b|\b(\d{1,4})\W*$")
_ONLY_A_NUMBER = re.compile(r"\W*(?:page|p\.|seite|第)?\s*#\s*(?:页|頁)?\W*")
_LONGEST = 120


def furniture(pages: Sequence[Sequence[str]]) -> set[tuple[int, int]]:
    """Positions (page, entry), both from 0, of the entries that a reader would not call text.

    A line that repeats at the edge of pages is kept where it first occurs, since it may be a heading
    there. One that counts the pages goes everywhere; since "Exhibit 3" may keep step with them for a
    while, a number with words must do so on most pages. An empty entry stands for what must stay,
    such as a table.
    """
    repeats: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    numbers: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for page, entries in enumerate(pages):
        for entry in _edges(len(entries)):
            text = entries[entry]
            if not text or len(text) > _LONGEST or text.startswith("("):
                continue
            repeats[text.casefold()].append((page, entry))
            if match := _NUMBER.search(text):
                number = int(match.group(1) or match.group(2))
                pattern = _NUMBER.sub("#", text, count=1).casefold()
                numbers[pattern].append((page, entry, number - page))
    found: set[tuple[int, int]] = set()
    for places in repeats.values():
        if len({page for page, _ in places}) >= _PAGES:
            found.update(place for place in places if place[0] != places[0][0])
    for pattern, counted in numbers.items():
        fewest = _PAGES if _ONLY_A_NUMBER.fullmatch(pattern) else max(_PAGES + 2, len(pages) // 2)
        shifts = Counter(shift for _, _, shift in counted)
        found.update((page, entry) for page, entry, shift in counted if shifts[shift] >= fewest)
    return found


def _edges(count: int) -> list[int]:
    return sorted({*range(min(_TOP, count)), *range(max(0, count - _BOTTOM), count)})
