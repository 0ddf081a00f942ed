"""The lines of a page, from the boxes of a PDF's characters or of the words recognised in a scan.

PDFium gives each character in the order of the content stream, with its box and font. A line consists of
the words on one baseline; a segment is a stretch of a line without a wide gap, so that a table's row is a
line of several segments and a sentence a line of one.

The recognised words of a scan become such lines too, so that headings, tables and columns are found as on
any other page; `agent.documents.scanning` recognises them.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median
from typing import Any, Self

from agent.documents.prose import separator
from models.protocols import RecognisedWord

_BOLD = re.compile(r"bold|black|heavy|semibold|demi", re.IGNORECASE)
_ITALIC_FLAG = 1 << 6  # ISO 32000-1, table 123
_HYPHEN_AT_LINE_END = 0xFFFE  # PDFium's character for a hyphen that breaks a word at a line end
_SIGN_AND_NUMBER = re.compile(r"(?<!\S)([$€£¥]) (?=[\d(.—–-])")
_SIGNS = frozenset({"$", "€", "£", "¥"})
_HIGH, _LOW = 0xD800 >> 10, 0xDC00 >> 10  # leading bits of the two halves of a UTF-16 surrogate pair
_WIDE_GAP = 0.85  # line heights; a space is about a quarter, in justified text seldom a half
_PAGE_WIDTH = 595.0  # points that a scanned page counts as; the rules for tables use points
_HEIGHT_TOLERANCE = 1.3  # factor by which the heights of boxes vary for one size of letters
_UNSURE_BELOW = 0.5  # confidence below which a word is marked
_UNSURE_MARK = "[?]"


@dataclass(slots=True)
class Stretch:
    """Text on one baseline, and how far it reaches from left to right, in points."""

    text: str
    x0: float
    x1: float
    bold: bool
    italic: bool


@dataclass(slots=True)
class Word(Stretch):
    """Characters without a space between them."""

    bottom: float
    top: float

    @property
    def middle(self) -> float:
        return (self.bottom + self.top) / 2

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def is_under(self, bottom: float, top: float) -> bool:
        """Whether text beside the word, between these heights, is a superscript of it."""
        return top - bottom < 0.9 * self.height and bottom - self.bottom > 0.2 * self.height


@dataclass(slots=True)
class Segment(Stretch):
    """Consecutive words without a wide gap between them."""

    words: Sequence[Word]

    @classmethod
    def of(cls, words: Sequence[Word]) -> Self:
        """The words joined by spaces, except between a currency sign and its number."""
        text = _SIGN_AND_NUMBER.sub(r"\1", " ".join(word.text for word in words))
        return cls(text, *_extent_and_look(words), words)


@dataclass(slots=True)
class Line(Stretch):
    """Segments on one baseline, from left to right; ``y`` is the middle, in points from the foot."""

    segments: Sequence[Segment]
    y: float
    height: float

    @classmethod
    def of(cls, segments: Sequence[Segment], y: float, height: float) -> Self:
        """The line of these segments."""
        text = " ".join(segment.text for segment in segments)
        return cls(text, *_extent_and_look(segments), segments, y, height)


def _extent_and_look(parts: Sequence[Stretch]) -> tuple[float, float, bool, bool]:
    """Left end, right end, and whether all are bold, and italic."""
    is_bold, is_italic = all(part.bold for part in parts), all(part.italic for part in parts)
    return parts[0].x0, parts[-1].x1, is_bold, is_italic


def page_lines(text_page: Any) -> list[Line]:
    """The lines of a PDFium text page, from top to bottom (column by column if there are two)."""
    return _lines_of(_strips(_words(text_page)))


def _lines_of(strips: list[list[Word]]) -> list[Line]:
    """The lines of a page from its ``strips``: runs of words on one baseline, in stream order."""
    if not _in_columns(strips):
        strips = _by_baseline(strips)
    return [_line(_with_raised_joined(strip)) for strip in strips]


def _words(text_page: Any) -> Iterator[Word | None]:
    """The words in stream order; None marks the end of a line."""
    import pypdfium2.raw as pdfium

    raw = text_page.raw
    box = pdfium.FS_RECTF()
    font_of = _font_reader(raw)
    word: Word | None = None
    raised = False  # whether the word's last character is raised
    units = [pdfium.FPDFText_GetUnicode(raw, index) for index in range(text_page.count_chars())]
    for index, code in _code_points(units):
        if code in {0x20, 0xA0, 0x09, 0x0D, 0x0A, 0x00, 0x200B}:
            if word:
                yield word
                word = None
            if code == 0x0A:
                yield None
            continue
        character = "-" if code in {_HYPHEN_AT_LINE_END, 0x02} else chr(code)
        pdfium.FPDFText_GetLooseCharBox(raw, index, box)
        if word and (abs(box.bottom - word.bottom) > word.height or box.left < word.x0 - 1):
            yield word  # the same run continues elsewhere on the page
            yield None
            word = None
        if word and word.is_under(box.bottom, box.top) != raised:
            raised = not raised
            following = chr(units[index + 1]) if index + 1 < len(units) else ""
            gap = separator(word.text, character + following, raised=raised)
            if gap.isspace():
                yield word
                word = None
            else:
                word.text += gap
        if word:
            word.text += character
            word.x1 = max(word.x1, box.right)
        else:
            bold, italic = font_of(index)
            word = Word(character, box.left, box.right, bold, italic, box.bottom, box.top)
            raised = False
        if code == _HYPHEN_AT_LINE_END:
            yield word
            yield None
            word = None
    if word:
        yield word


def _code_points(units: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each character's index and code point; PDFium gives one beyond U+FFFF as two UTF-16 units.

    A unit without its other half, which a font's map may contain, cannot be stored and becomes U+FFFD.
    """
    for index, (before, unit, after) in enumerate(zip([0, *units], units, [*units[1:], 0], strict=False)):
        if unit >> 10 == _HIGH and after >> 10 == _LOW:
            yield index, 0x10000 + ((unit & 0x3FF) << 10) + (after & 0x3FF)
        elif not (unit >> 10 == _LOW and before >> 10 == _HIGH):
            yield index, 0xFFFD if unit >> 10 in {_HIGH, _LOW} else unit


def _font_reader(raw: Any) -> Callable[[int], tuple[bool, bool]]:
    import pypdfium2.raw as pdfium

    name = ctypes.create_string_buffer(256)
    flags = ctypes.c_int()

    def font_of(index: int) -> tuple[bool, bool]:
        pdfium.FPDFText_GetFontInfo(raw, index, name, 256, flags)
        bold = _BOLD.search(name.value.decode("utf-8", "replace")) is not None
        return bold, bool(flags.value & _ITALIC_FLAG)

    return font_of


def _strips(words: Iterator[Word | None]) -> list[list[Word]]:
    """Runs of the content stream's words that are on one baseline."""
    strips: list[list[Word]] = [[]]
    for word in words:
        strip = strips[-1]
        if word is None:
            strips.append([])
        elif strip and abs(word.middle - strip[-1].middle) > strip[-1].height * 0.6:
            strips.append([word])
        else:
            strip.append(word)
    return [strip for strip in strips if strip]


def _in_columns(strips: list[list[Word]]) -> bool:
    """Whether prose is in two columns, so that the stream's order must be kept."""
    prose = [s for s in strips if len(s) >= 4 and sum(w.text[0].isalpha() for w in s) >= 3]
    side_by_side = sum(
        any(
            abs(strip[0].middle - other[0].middle) < strip[0].height * 0.5
            and (other[0].x0 > strip[-1].x1 or other[-1].x1 < strip[0].x0)
            for other in prose
        )
        for strip in prose
    )
    return side_by_side >= 8 and side_by_side > len(prose) * 0.4


def _by_baseline(strips: list[list[Word]]) -> list[list[Word]]:
    rows: list[list[Word]] = []
    for strip in sorted(strips, key=lambda strip: (-strip[0].middle, strip[0].x0)):
        row = rows[-1] if rows else None
        if row and abs(row[0].middle - strip[0].middle) < min(row[0].height, strip[0].height) * 0.4:
            row.extend(strip)
        else:
            rows.append(list(strip))
    return [sorted(row, key=lambda word: word.x0) for row in rows]


def _with_raised_joined(words: Sequence[Word]) -> list[Word]:
    """The words, with a raised word joined to the number that it touches."""
    merged = [words[0]]
    for word in words[1:]:
        last = merged[-1]
        touches = abs(word.x0 - last.x1) < 0.1 * last.height and last.is_under(word.bottom, word.top)
        mark = separator(last.text, word.text, raised=True)
        if touches and (mark or (last.text[-1].isdecimal() and word.text.isalpha())):
            merged[-1] = replace(last, text=last.text + mark + word.text, x1=word.x1)
        else:
            merged.append(word)
    return merged


def _line(words: list[Word]) -> Line:
    heights: Counter[float] = Counter()
    for word in words:
        heights[round(word.height, 1)] += len(word.text)
    height = heights.most_common(1)[0][0]
    segments = split_at_gaps(words, height * _WIDE_GAP)
    return Line.of([Segment.of(part) for part in segments], words[0].middle, height)


def split_at_gaps(words: Sequence[Word], gap: float) -> list[list[Word]]:
    """The words, split where the space between two exceeds ``gap``, and before a currency sign."""
    parts: list[list[Word]] = [[words[0]]]
    for last, word in pairwise(words):
        distance = word.x0 - last.x1
        if last.text in _SIGNS:
            parts[-1].append(word)  # a sign stays with its number, however far apart they are
        elif distance > gap or (word.text in _SIGNS and distance > 0):
            parts.append([word])
        else:
            parts[-1].append(word)
    return parts


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """The recognised lines of words of a page, in a picture of ``width`` pixels."""

    width: int
    lines: tuple[tuple[RecognisedWord, ...], ...]


def scanned_lines(page: ScannedPage) -> list[Line]:
    """The lines of a page in reading order; uncertain words are marked."""
    heights = [word.bottom - word.top for line in page.lines for word in line]
    usual = median(heights) if heights else 0.0
    strips = [
        [_word_of_scan(word, usual, _PAGE_WIDTH / page.width) for word in line] for line in page.lines
    ]
    return _lines_of(strips)


def scanned_text(page: ScannedPage) -> str:
    """All recognised text of a page."""
    return "\n".join(" ".join(word.text for word in line) for line in page.lines)


def scan_notices(recognised: Mapping[int, ScannedPage], pages: int) -> Iterator[str]:
    """A sentence on how confident the recognition was, if it was unsure of words."""
    words = [word for page in recognised.values() for line in page.lines for word in line]
    unsure = sum(word.confidence < _UNSURE_BELOW for word in words)
    if not unsure:
        return
    sure = fmean(word.confidence for word in words)
    scans = f"{len(recognised)} of {pages} pages are scans" if pages > 1 else "It is a scan"
    marked = "1 unsure word is marked" if unsure == 1 else f"{unsure} unsure words are marked"
    yield f"{scans}, read by OCR with a confidence of {sure:.0%}; {marked} {_UNSURE_MARK}."


def _word_of_scan(word: RecognisedWord, usual: float, scale: float) -> Word:
    """The word in PDF coordinates: points from the foot of the page."""
    height = word.bottom - word.top
    if usual / _HEIGHT_TOLERANCE < height < usual * _HEIGHT_TOLERANCE:
        height = usual
    middle = -(word.top + word.bottom) / 2
    return Word(
        text=word.text + (_UNSURE_MARK if word.confidence < _UNSURE_BELOW else ""),
        x0=word.left * scale,
        x1=word.right * scale,
        bottom=(middle - height / 2) * scale,
        top=(middle + height / 2) * scale,
        bold=False,
        italic=False,
    )
