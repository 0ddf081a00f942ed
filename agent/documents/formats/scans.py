"""Scans: the recognised words of a page as lines like those of a PDF.

So headings, tables and columns are found as on any page. `agent.documents.scanning` recognises the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from agent.documents.formats.pdf_lines import Line, Word, lines_of
from models.protocols import RecognisedWord

if TYPE_CHECKING:
    pass

_PAGE_WIDTH = 595.0  # points; the rules for tables count in them
_ALIKE = 1.3  # times the usual height: boxes of one size of letters vary as much
_UNSURE = 0.5  # confidence below which a word is marked
UNSURE_MARK = "[?]"


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """The recognised lines of words of a page, in a picture of ``width`` pixels."""

    width: int
    lines: tuple[tuple[RecognisedWord, ...], ...]


def scanned_lines(page: ScannedPage) -> list[Line]:
    """The lines of a page in reading order; uncertain words are marked."""
    heights = [word.bottom - word.top for line in page.lines for word in line]
    usual = median(heights) if heights else 0.0
    strips = [[_word(word, usual, _PAGE_WIDTH / page.width) for word in line] for line in page.lines]
    return lines_of(strips)


def scanned_text(page: ScannedPage) -> str:
    """All recognised text of a page."""
    return "\n".join(" ".join(word.text for word in line) for line in page.lines)


def scan_notices(recognised: Mapping[int, ScannedPage], pages: int) -> Iterator[str]:
    """A sentence on how confident the recognition was."""
    words = [word for page in recognised.values() for line in page.lines for word in line]
    if not words:
        return
    sure = fmean(word.confidence for word in words)
    unsure = sum(word.confidence < _UNSURE for word in words)
    marked = f"; {unsure} unsure words are marked {UNSURE_MARK}" if unsure else ""
    of = f"{len(recognised)} of {pages} pages are scans" if pages > 1 else "It is a scan"
    yield f"{of}, read by OCR with a confidence of {sure:.0%}{marked}."


def _word(word: RecognisedWord, usual: float, scale: float) -> Word:
    """The word in PDF coordinates: points from the foot of the page."""
    height = word.bottom - word.top
    if usual / _ALIKE < height < usual * _ALIKE:
        height = usual
    middle = -(word.top + word.bottom) / 2
    return Word(
        text=word.text + (UNSURE_MARK if word.confidence < _UNSURE else ""),
        x0=word.left * scale,
        x1=word.right * scale,
        bottom=(middle - height / 2) * scale,
        top=(middle + height / 2) * scale,
        bold=False,
        italic=False,
    )
