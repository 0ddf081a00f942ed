"""Scanned pages: characters that are recognised rightly, and seconds a page.

Twenty pages of text are drawn as a scanner would see them, at 150 dpi, askew by 2° and with noise, and read
as a picture that is added to the library is. Chinese needs a font that has its signs (Debian:
fonts-wqy-microhei).
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from difflib import SequenceMatcher
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agent.documents.formats.pdf_lines import ScannedPage
from agent.documents.reading import read_bytes
from agent.documents.sample_library import root
from agent.documents.scanning import page_picture
from models.ocr import RapidOcr
from tests.benchmarks.process import beside_others
from tests.benchmarks.table import Row, Table
from tests.conftest import DATA

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_SIZE: Final = (1240, 1754)  # A4 at 150 dpi
_LETTER: Final = 23  # pixels: 11 points
_MARGIN: Final = 140
_LEADING: Final = 36
_SKEW: Final = 2.0  # degrees
_NOISE: Final = 10.0  # standard deviation, of 255
_SECONDS: Final = 4.0
_FONTS: Final = Path("/usr/share/fonts/truetype")
_LANGUAGES: Final = {  # text, font, pages, the least share of characters
    "English": (root() / "newsroom" / "2025-03-18-pellacre-order.md", "dejavu/DejaVuSerif.ttf", 7, 0.97),
    "German": (
        DATA / "own" / "mixed" / "docs" / "verein" / "Satzung_2023-06-05.md",
        "dejavu/DejaVuSans.ttf",
        7,
        0.97,
    ),
    "Chinese": (root() / "newsroom" / "2025-08-05-yunpu-expansion-zh.md", "wqy/wqy-microhei.ttc", 6, 0.95),
}


def ocr() -> Table:
    from PIL import ImageFont

    load, recogniser, rows, seconds = beside_others(), RapidOcr(), list[Row](), list[float]()
    for language, (source, font, pages, bar) in _LANGUAGES.items():
        if not (_FONTS / font).exists() or not source.exists():
            rows.append(Row(f"{language}: characters right", "no font or no text for it on this machine"))
            continue
        letters = ImageFont.truetype(_FONTS / font, _LETTER)
        shares: list[float] = []
        for number in range(pages):
            text, picture = _scan(_sentences(source), letters, number)
            began = time.monotonic()
            read = _read(recogniser, picture)
            seconds += [time.monotonic() - began]
            shares.append(_right(text, read))
        rows.append(
            Row(
                f"{language}, {pages} pages: characters right",
                f"{fmean(shares):.2%} (least {min(shares):.2%})",
                f"{bar:.0%}",
                fmean(shares) >= bar,
            )
        )
    mean = fmean(seconds[1:])  # the first page loads the model
    rows.append(Row.at_most("seconds a page", mean, "{:.1f}", _SECONDS))
    return Table("ocr", "Scanned pages", rows, [*_NOTES, *load])


_NOTES: Final = [
    f"A4 at 150 dpi, letters of 11 points, askew by {_SKEW:.0f}°, noise with a standard deviation of "
    f"{_NOISE:.0f} of 255; sentences of one document a language, shuffled for each page.",
    "Characters right: those of the text, spaces apart, that are read in the same order.",
]


def _sentences(source: Path) -> list[str]:
    """The sentences of a document in Markdown, without its marks."""
    text = re.sub(r"[#*|`>_\-]+|\d+\. ", " ", source.read_text("utf-8"))
    return [part.strip() for part in re.findall(r"[^.。!?]{20,}[.。!?]", " ".join(text.split()))]


def _scan(sentences: list[str], letters: FreeTypeFont, number: int) -> tuple[str, bytes]:
    from PIL import Image, ImageDraw

    chance = random.Random(number)
    shuffled = [one for _ in range(40) for one in chance.sample(sentences, len(sentences))]
    sheet = Image.new("L", _SIZE, 255)
    pen = ImageDraw.Draw(sheet)
    lines: list[str] = []
    for line in _lines(" ".join(shuffled), letters, _SIZE[0] - 2 * _MARGIN):
        top = _MARGIN + _LEADING * len(lines)
        if top > _SIZE[1] - _MARGIN - _LEADING:
            break
        pen.text((_MARGIN, top), line, font=letters, fill=20)
        lines.append(line)
    askew = np.asarray(sheet.rotate(_SKEW, resample=Image.Resampling.BICUBIC, fillcolor=255), dtype=float)
    noise = np.random.default_rng(number).normal(0, _NOISE, askew.shape)
    seen: Any = np.clip(askew + noise, 0, 255).astype(np.uint8)
    file = BytesIO()
    Image.fromarray(seen).save(file, "PNG")
    return "".join(lines), file.getvalue()


def _lines(text: str, letters: FreeTypeFont, width: int) -> Iterator[str]:
    """The text in lines of that many pixels: broken at spaces, or anywhere in Chinese."""
    line = ""
    for piece in re.findall(r"[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+", text):
        if line and letters.getlength(line + piece.rstrip()) > width:
            yield line.strip()
            line = ""
        line += piece
    yield line.strip()


def _read(recogniser: RapidOcr, picture: bytes) -> str:
    """The text of a picture as it is read into the library."""
    pixels = page_picture("page.png", picture, 1)
    page = ScannedPage(pixels.shape[1], tuple(map(tuple, recogniser.recognise(pixels))))
    read = read_bytes("page.png", picture, recognised={1: page})
    return " ".join(block.text for block in read.blocks)


def _right(text: str, read: str) -> float:
    """The share of the text's characters, spaces apart, that are read in their order."""
    wanted, got = ("".join(one.split()) for one in (text, read.replace("[?]", "")))
    blocks = SequenceMatcher(None, wanted, got, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(wanted)
