"""Page furniture: running headers, footers and page numbers, which are not part of the text."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

_TOP_LINES = 4
_BOTTOM_LINES = 3
_FEWEST_PAGES = 3  # pages with the same line, in a short document
_ENOUGH_PAGES = 5  # the same, in a long document
_FORM_FIELD_PAGES = 10  # the same, if the line may be a field of a form
_NUMBER = re.compile(r"^\W*(\d{1,4})\b|\b(\d{1,4})\W*$")
_ONLY_A_NUMBER = re.compile(r"\W*(?:page|p\.|seite|第)?\s*#\s*(?:页|頁)?\W*")
_FIELD = re.compile(r"([^:]{1,30}): \S")
_LONGEST_LINE = 120
_Spot = tuple[int, int]  # page and entry, both from 0
_Entry = TypeVar("_Entry")


def without_furniture(
    pages: Sequence[Sequence[_Entry]], text: Callable[[_Entry], str]
) -> list[list[_Entry]]:
    """The pages without the entries whose ``text`` is page furniture."""
    unwanted = furniture([list(map(text, page)) for page in pages])
    return [
        [entry for index, entry in enumerate(page) if (number, index) not in unwanted]
        for number, page in enumerate(pages)
    ]


def furniture(pages: Sequence[Sequence[str]]) -> set[_Spot]:
    """Positions (page, entry), both from 0, of the entries that are page furniture.

    A running line is at the same distance from the edge on consecutive pages, or on every other page, with
    only furniture between it and the edge. Its first occurrence is kept, because it may be a heading there.
    What is recognisably a field of a form ("Status: active") is not a running line. A line with the page
    number is removed everywhere; because "Exhibit 3" may match the page number for a while, a number with
    words must match on most pages. An empty entry is never removed: use it for tables.
    """
    repeats: defaultdict[str, list[_Spot]] = defaultdict(list)
    numbers: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for page, entries in enumerate(pages):
        count = len(entries)
        for entry in sorted({*range(min(_TOP_LINES, count)), *range(max(0, count - _BOTTOM_LINES), count)}):
            text = entries[entry]
            if not text or len(text) > _LONGEST_LINE or text.startswith("("):
                continue
            repeats[text.casefold()].append((page, entry))
            if match := _NUMBER.search(text):
                number = int(match.group(1) or match.group(2))
                pattern = _NUMBER.sub("#", text, count=1).casefold()
                numbers[pattern].append((page, entry, number - page))
    page_numbers = _page_number_spots(numbers, len(pages))
    running_lines = _running_line_spots(repeats, pages)
    outer = running_lines | page_numbers
    firsts = {spot for spots in repeats.values() for spot in spots if spot[0] == spots[0][0]}
    return page_numbers | {spot for spot in running_lines - firsts if _is_outermost(spot, pages, outer)}


def _page_number_spots(numbers: Mapping[str, Sequence[tuple[int, int, int]]], pages: int) -> set[_Spot]:
    """Positions of the lines whose number increases with the page number."""
    positions: set[_Spot] = set()
    for pattern, occurrences in numbers.items():
        fewest = _FEWEST_PAGES if _ONLY_A_NUMBER.fullmatch(pattern) else max(_FEWEST_PAGES + 2, pages // 2)
        shifts = Counter(shift for _, _, shift in occurrences)
        positions.update((page, entry) for page, entry, shift in occurrences if shifts[shift] >= fewest)
    return positions


def _running_line_spots(
    repeats: Mapping[str, Sequence[_Spot]], pages: Sequence[Sequence[str]]
) -> set[_Spot]:
    """Positions of lines in the same place on enough pages; of form fields, only those with one value."""
    fewest = min(_ENOUGH_PAGES, max(_FEWEST_PAGES, math.ceil(len(pages) * 2 / 3)))
    values = Counter(match[1] for text in repeats if (match := _FIELD.match(text)))
    positions: set[_Spot] = set()
    for text, spots in repeats.items():
        field = _FIELD.match(text)
        if field is None:
            positions |= _in_place(spots, pages, fewest)
        elif values[field[1]] == 1:
            positions |= _in_place(spots, pages, _FORM_FIELD_PAGES)
    return positions


def _in_place(spots: Sequence[_Spot], pages: Sequence[Sequence[str]], fewest: int) -> set[_Spot]:
    """The positions of a line that have the same distance from an edge, within one, on enough pages."""
    positions: set[_Spot] = set()
    from_top = [(entry, (page, entry)) for page, entry in spots]
    from_foot = [(len(pages[page]) - 1 - entry, (page, entry)) for page, entry in spots]
    for places, depth in ((from_top, _TOP_LINES), (from_foot, _BOTTOM_LINES)):
        for place in range(depth):
            level = [spot for distance, spot in places if distance in {place, place + 1}]
            if _in_step({page for page, _ in level}) >= fewest:
                positions.update(level)
    return positions


def _in_step(pages: set[int]) -> int:
    """The longest series of consecutive pages, or of all left or all right pages of a book."""
    longest = 0
    for step in (1, 2):
        for first in pages:
            if first - step not in pages:
                page = first
                while page in pages:
                    page += step
                longest = max(longest, (page - first) // step)
    return longest


def _is_outermost(spot: _Spot, pages: Sequence[Sequence[str]], outer: set[_Spot]) -> bool:
    page, entry = spot
    entries_above, entries_below = range(entry), range(entry + 1, len(pages[page]))
    return (entry < _TOP_LINES and all((page, other) in outer for other in entries_above)) or (
        len(entries_below) < _BOTTOM_LINES and all((page, other) in outer for other in entries_below)
    )
