"""Scans: pages that are pictures, and what was recognised on them as lines like those of a PDF.

A page is recognised by a model that is handed in (`agent.documents.scanning`); here its picture is made,
and its words become lines, so that headings, tables and columns are found as on any page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from agent.documents.cover import stated_date, stated_title
from agent.documents.document import NoText, ParsedDocument
from agent.documents.formats.pdf import open_pdf, passages_of_pages
from agent.documents.formats.pdf_lines import Line, Word, lines_of
from agent.documents.media_types import PICTURE
from agent.documents.outline import outlined, without_breaks
from models.protocols import Pixels, RecognisedWord

if TYPE_CHECKING:
    from PIL.Image import Image

_LONGEST_SIDE = 2000  # pixels; more the model makes smaller itself
_PAGE_WIDTH = 595.0  # points; the rules for tables count in them
_ALIKE = 1.3  # times the usual height: boxes of one size of letters vary as much
_UNSURE = 0.5  # confidence below which a word is marked
UNSURE_MARK = "[?]"


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """What was recognised on a page: its lines of words, in a picture of ``width`` pixels."""

    width: int
    lines: tuple[tuple[RecognisedWord, ...], ...]


def read_picture(path: Path, data: bytes, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
    """Read ``data`` as a picture of one page, or of several (TIFF).

    Raises:
        NoText: Recognition is off.
    """
    from PIL import Image

    with Image.open(BytesIO(data)) as picture:
        pages = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
    if recognised is None:
        raise NoText(
            f"{path.name} is a picture, and the recognition of text is off.",
            "Turn it on with `deepthink config set ocr true`.",
        )
    blocks = outlined(
        without_breaks(
            passages_of_pages(
                [
                    scanned_lines(recognised[number]) if number in recognised else []
                    for number in range(1, pages + 1)
                ]
            )
        )
    )
    return ParsedDocument(
        title=stated_title("", blocks, path),
        media_type=PICTURE,
        blocks=tuple(blocks),
        visible_text="\n".join(map(scanned_text, recognised.values())),
        pages=pages,
        date=stated_date(blocks),
        notices=tuple(scan_notices(recognised, pages)),
        scans=tuple(number for number in range(1, pages + 1) if number not in recognised),
    )


def page_picture(name: str, data: bytes, number: int) -> Pixels:
    """The picture of a page (counted from 1) of a PDF or of a file of pictures.

    Raises:
        UnreadableDocument: It is damaged.
    """
    if b"%PDF-" in data[:1024]:
        with open_pdf(name, data) as pdf:
            page = pdf[number - 1]
            bitmap = page.render(scale=_LONGEST_SIDE / max(page.get_size()), rev_byteorder=True)
            return np.ascontiguousarray(bitmap.to_numpy()[:, :, :3])
    from PIL import Image, ImageFilter, ImageOps

    with Image.open(BytesIO(data)) as picture:
        picture.seek(number - 1)
        upright: Image.Image = ImageOps.exif_transpose(picture)
        if upright.mode == "1":
            # In black and white a grey background is dots, which the recogniser takes for strokes.
            upright = upright.convert("L").filter(ImageFilter.MedianFilter(3))
        flat = Image.new("RGB", upright.size, "white")
        flat.paste(upright, mask=upright.getchannel("A") if "A" in upright.getbands() else None)
    flat.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    return np.asarray(flat)


def scanned_lines(page: ScannedPage) -> list[Line]:
    """The lines of a page in reading order; words that are unsure are marked."""
    heights = [word.bottom - word.top for line in page.lines for word in line]
    usual = median(heights) if heights else 0.0
    strips = [[_word(word, usual, _PAGE_WIDTH / page.width) for word in line] for line in page.lines]
    return lines_of(strips)


def scanned_text(page: ScannedPage) -> str:
    """All that was recognised on a page."""
    return "\n".join(" ".join(word.text for word in line) for line in page.lines)


def scan_notices(recognised: Mapping[int, ScannedPage], pages: int) -> Iterator[str]:
    """How sure the recognition was."""
    words = [word for page in recognised.values() for line in page.lines for word in line]
    if not words:
        return
    sure = fmean(word.confidence for word in words)
    unsure = sum(word.confidence < _UNSURE for word in words)
    marked = f"; {unsure} unsure words are marked {UNSURE_MARK}" if unsure else ""
    of = f"{len(recognised)} of {pages} pages are scans" if pages > 1 else "It is a scan"
    yield f"{of}, read by OCR with a confidence of {sure:.0%}{marked}."


def _word(word: RecognisedWord, usual: float, scale: float) -> Word:
    """The word as of a PDF: heights count from the foot of the page, in points."""
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
