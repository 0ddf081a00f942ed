"""Pictures of text: their pages, and the pictures of the pages of a PDF, for recognition."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from agent.documents.cover import with_cover
from agent.documents.document import NoText, ParsedDocument, damaged
from agent.documents.formats.pdf import blocks_of_pages, open_pdf
from agent.documents.formats.pdf_lines import ScannedPage, scan_notices, scanned_lines, scanned_text
from models.protocols import Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

_LONGEST_SIDE = 2000  # pixels; a larger picture is scaled down by the model


def read_picture(path: Path, data: bytes, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
    """Read ``data`` as a picture of one page, or of several (TIFF).

    Raises:
        NoText: Text recognition is off.
    """
    from PIL import Image

    with Image.open(BytesIO(data)) as picture:
        pages = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
    if recognised is None:
        raise NoText(
            f"{path.name} is a picture, and text recognition is off.",
            "Turn it on with `deepthink config set ocr true`.",
        )
    numbers = range(1, pages + 1)
    lines = [scanned_lines(recognised[number]) if number in recognised else [] for number in numbers]
    document = ParsedDocument(
        tuple(blocks_of_pages(lines)),
        "\n".join(map(scanned_text, recognised.values())),
        pages=pages,
        notices=tuple(scan_notices(recognised, pages)),
        scans=tuple(number for number in numbers if number not in recognised),
    )
    return with_cover(document, path)


def page_picture(name: str, data: bytes, number: int, longest_side: int = _LONGEST_SIDE) -> Pixels:
    """The picture of a page of a PDF or an image file; shape (height, width, 3).

    A PDF is drawn at ``longest_side`` pixels, a larger picture is scaled down. Pages count from 1.

    Raises:
        UnreadableDocument: The file is damaged, or has no such page.
    """
    if b"%PDF-" in data[:1024]:
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
