"""Recognising scanned pages, one at a time; each is stored as soon as it is done."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import TypeAdapter, ValidationError

from agent.documents.document import damaged
from agent.documents.formats.pdf_lines import ScannedPage
from agent.documents.indexing import stop_if
from agent.documents.sources import Content
from models.protocols import Pixels, TextRecogniser
from traces.paths import scans_dir

if TYPE_CHECKING:
    from PIL.Image import Image

_LONGEST_SIDE = 2000  # pixels; a larger picture is scaled down by the model

_LINE: TypeAdapter[tuple[int, ScannedPage]] = TypeAdapter(tuple[int, ScannedPage])


def page_picture(name: str, data: bytes, number: int, longest_side: int = _LONGEST_SIDE) -> Pixels:
    """The picture of a page of a PDF or an image file; shape (height, width, 3).

    A PDF is drawn at ``longest_side`` pixels, a larger picture is scaled down. Pages count from 1. Raises
    `UnreadableDocument` if the file is damaged, or has no such page.
    """
    if b"%PDF-" in data[:1024]:
        from agent.documents.formats.pdf import open_pdf

        with open_pdf(name, data) as pdf:
            page = pdf[number - 1]
            bitmap = page.render(scale=longest_side / max(page.get_size()), rev_byteorder=True)
            return np.ascontiguousarray(bitmap.to_numpy()[:, :, :3])
    try:
        return _pixels(data, number, longest_side)
    except Exception as error:  # Pillow raises all kinds of errors on damaged files
        raise damaged(name, error) from error


def _pixels(data: bytes, number: int, longest_side: int) -> Pixels:
    from PIL import Image, ImageFilter, ImageOps

    with Image.open(BytesIO(data)) as picture:
        picture.seek(number - 1)
        upright: Image.Image = ImageOps.exif_transpose(picture)
        if upright.mode == "1":
            # In black and white, a grey background is dithered to dots, which look like strokes.
            upright = upright.convert("L").filter(ImageFilter.MedianFilter(3))
        flat = Image.new("RGB", upright.size, "white")
        flat.paste(upright, mask=upright.getchannel("A") if "A" in upright.getbands() else None)
    flat.thumbnail((longest_side, longest_side))
    return np.asarray(flat)


class Scanning:
    """The recognised text of the files that are being read; it is stored until a file is finished.

    Without a recogniser, scans are not read. ``seconds_a_page`` is an estimate.
    """

    def __init__(self, recogniser: TextRecogniser | None) -> None:
        self.is_on = recogniser is not None
        self.seconds_a_page = recogniser.seconds_a_page if recogniser else 0.0
        self._recogniser = recogniser
        self._pages: dict[str, dict[int, ScannedPage]] = {}

    def pages_of(self, sha256: str) -> Mapping[int, ScannedPage] | None:
        """The recognised pages of a file, including those of an earlier reading; None if scans are off."""
        if not self.is_on:
            return None
        if sha256 not in self._pages:
            self._pages[sha256] = dict(_stored_pages(_file(sha256)))
        return self._pages[sha256]

    def recognise(
        self, name: str, content: Content, pages: Sequence[int], cancel: threading.Event | None
    ) -> Iterator[int]:
        """Recognise pages of a file; yields the number of finished pages after each.

        Finished pages are kept. Raises `GenerationCancelled` if ``cancel`` was set, `ModelError` if the
        model fails, and `UnreadableDocument` if a page cannot be rendered.
        """
        assert self._recogniser is not None, "only where scans are read"
        for count, number in enumerate(pages, start=1):
            stop_if(cancel)
            picture = page_picture(name, content.data, number)
            lines = tuple(map(tuple, self._recogniser.recognise(picture)))
            page = ScannedPage(picture.shape[1], lines)
            self._pages.setdefault(content.sha256, {})[number] = page
            scans_dir().mkdir(parents=True, exist_ok=True)
            with _file(content.sha256).open("ab") as file:
                file.write(_LINE.dump_json((number, page)) + b"\n")
            yield count

    def forget(self, sha256: str) -> None:
        """Drop a file's pages, once its document is in the library."""
        self._pages.pop(sha256, None)
        if self.is_on:
            _file(sha256).unlink(missing_ok=True)


def _file(sha256: str) -> Path:
    return scans_dir() / f"{sha256}.jsonl"


def _stored_pages(file: Path) -> Iterator[tuple[int, ScannedPage]]:
    lines = file.read_bytes().splitlines() if file.exists() else []
    with suppress(ValidationError):  # the incomplete last line of a killed process
        for line in lines:
            yield _LINE.validate_json(line)
