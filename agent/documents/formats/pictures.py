"""Pictures of text: their recognised lines, read as the pages of a PDF are."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from agent.documents.cover import with_cover
from agent.documents.document import NoText, ParsedDocument, UnreadableDocument
from agent.documents.formats.pdf import blocks_of_pages
from agent.documents.formats.pdf_lines import ScannedPage, scan_notices, scanned_lines, scanned_text


def read_picture(path: Path, data: bytes, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
    """Read ``data`` as a picture of one page, or of several (TIFF).

    Raises `NoText` if text recognition is off.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(data)) as picture:
            pages = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
    except UnidentifiedImageError as error:
        raise UnreadableDocument(
            f"{path.name} is a damaged picture, or one of an unknown kind.",
            "Open it in a picture viewer, save it as PNG and add that.",
        ) from error
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
