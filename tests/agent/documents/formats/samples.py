"""Small files of the binary formats, made for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from io import BytesIO
from typing import Any, NamedTuple


class Drawn(NamedTuple):
    """Texts at one height of a PDF's page, each by its place from the left."""

    y: float
    texts: Mapping[float, str]
    size: float = 10.0
    font: str = "Helvetica"


def pdf_file(*pages: str, password: str = "") -> bytes:
    """A PDF with one text of several lines a page."""
    lines = [
        [Drawn(720 - 14 * number, {72: line}, 12) for number, line in enumerate(page.splitlines())]
        for page in pages
    ]
    return drawn_pdf(*lines, password=password)


def drawn_pdf(*pages: Sequence[Drawn], password: str = "") -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    out = BytesIO()
    canvas = Canvas(out, encrypt=StandardEncryption(password) if password else None)
    for page in pages:
        for line in page:
            canvas.setFont(line.font, line.size)
            for x, text in line.texts.items():
                canvas.drawString(x, line.y, text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def mapped_pdf(line: str, letter: str, units: str) -> bytes:
    """A PDF of one line, whose font says that its ``letter`` stands for ``units``: UTF-16 in hex digits."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, NameObject

    writer = PdfWriter(clone_from=BytesIO(pdf_file(line)))
    meant = DecodedStreamObject()
    meant.set_data(
        b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
        + f"1 beginbfchar <{ord(letter):02X}> <{units}> endbfchar endcmap".encode()
    )
    fonts: Any = writer.pages[0]["/Resources"]
    for font in fonts["/Font"].values():
        font.get_object()[NameObject("/ToUnicode")] = writer._add_object(meant)
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def scanned_pdf(brightness: int = 255) -> bytes:
    """A PDF whose only page is a picture of one shade of grey."""
    from PIL import Image

    out = BytesIO()
    Image.new("L", (300, 400), brightness).save(out, "PDF")
    return out.getvalue()


def workbook(**sheets: Sequence[Sequence[object]]) -> bytes:
    """An Excel workbook of sheets of rows."""
    import xlsxwriter

    out = BytesIO()
    with xlsxwriter.Workbook(out) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for column, value in enumerate(row):
                    sheet.write(number, column, value, day if isinstance(value, date) else None)
    return out.getvalue()


def docx_file(*paragraphs: str) -> bytes:
    import docx

    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    return saved(document)


def saved(document: Any) -> bytes:
    out = BytesIO()
    document.save(out)
    return out.getvalue()
