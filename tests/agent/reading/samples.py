"""Small files of the binary formats, made for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any


def pdf_file(*pages: str, password: str = "") -> bytes:
    """A PDF with one text of several lines a page."""
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    out = BytesIO()
    canvas = Canvas(out, encrypt=StandardEncryption(password) if password else None)
    for page in pages:
        for number, line in enumerate(page.splitlines()):
            canvas.drawString(72, 720 - 14 * number, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def drawn_pdf(*pages: Sequence[tuple[float, float, str, str, float]]) -> bytes:
    """A PDF with texts at places: x, y, text, font, size."""
    from reportlab.pdfgen.canvas import Canvas

    out = BytesIO()
    canvas = Canvas(out)
    for page in pages:
        for x, y, text, font, size in page:
            canvas.setFont(font, size)
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def scanned_pdf() -> bytes:
    """A PDF whose only page is a picture."""
    from PIL import Image
    from reportlab.pdfgen.canvas import Canvas

    out = BytesIO()
    canvas = Canvas(out)
    canvas.drawInlineImage(Image.new("RGB", (60, 80), "white"), 72, 72)
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def docx_file(*paragraphs: str) -> bytes:
    """A Word document of plain paragraphs."""
    import docx

    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    return saved(document)


def saved(document: Any) -> bytes:
    """A python-docx document as bytes."""
    out = BytesIO()
    document.save(out)
    return out.getvalue()
