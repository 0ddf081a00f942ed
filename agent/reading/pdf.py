"""PDF, by PDFium.

Measured on a 190-page 10-K, two cores: PDFium reads all text in 0.6 s (2.5 s with the box of every
character), pypdf in 11 s, pdfplumber in about 36 s. PDFium is not safe to call from two threads, so
one file is read at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.reading.cover import stated_date, stated_title
from agent.reading.document import NoText, ParsedDocument, UnreadableDocument
from agent.reading.furniture import furniture
from agent.reading.hyphens import mended, words_of
from agent.reading.outline import Look, Passage, outlined, without_breaks
from agent.reading.pdf_lines import Line, Segment, page_lines
from agent.reading.pdf_tables import TableLines, tables_and_lines
from agent.reading.prose import bulleted, is_marker, joined, normal

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

_ONE_AT_A_TIME = threading.Lock()
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_PARAGRAPH_GAP = 1.45  # heights of a line
_LOOSE_GAP = 2.0  # where the words show that the sentence goes on
_SHORT_LINE = 0.8  # of the text's width


def read_pdf(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as PDF.

    Raises:
        UnreadableDocument: It is encrypted or damaged.
        NoText: No page holds text, as in a scan.
    """
    from agent.reading.docling_reader import read_with_docling

    if (by_docling := read_with_docling(path, data)) is not None:
        return by_docling
    with _opened(path.name, data) as pdf:
        declared = pdf.get_metadata_value("Title")
        texts, pages = _content(pdf)
    empty = sum(not text.strip() for text in texts)
    if empty == len(texts):
        raise NoText(
            f"{path.name} has no text on any of its pages ({len(texts)}): it is probably a scan.",
            "Make its text readable with OCR (such as `ocrmypdf in.pdf out.pdf`) and add the result.",
        )
    whole = "\n".join(texts)
    known = words_of(whole)
    blocks = outlined(without_breaks(list(_passages(_without_furniture(pages), known))))
    return ParsedDocument(
        title=stated_title(normal(declared), blocks, path),
        media_type="application/pdf",
        blocks=tuple(blocks),
        visible_text=mended(whole, known),
        pages=len(texts),
        date=stated_date(blocks),
        notices=(
            (f"{empty} of {len(texts)} pages hold no text; if they are scans, OCR would help.",)
            if empty
            else ()
        ),
    )


def page_texts(name: str, data: bytes) -> list[str]:
    """The text of each page, as PDFium gives it.

    Raises:
        UnreadableDocument: It is encrypted or damaged.
    """
    with _opened(name, data) as pdf:
        return [_page_text(text_page) for text_page in _text_pages(pdf)]


@contextmanager
def _opened(name: str, data: bytes) -> Iterator[PdfDocument]:
    import pypdfium2

    with _ONE_AT_A_TIME:
        try:
            with closing(pypdfium2.PdfDocument(data)) as pdf:
                yield pdf
        except pypdfium2.PdfiumError as error:
            raise _unreadable(name, error) from error


def _unreadable(name: str, error: Any) -> UnreadableDocument:
    if getattr(error, "err_code", None) == _PASSWORD_ERROR:
        return UnreadableDocument(
            f"{name} is encrypted and opens only with a password.",
            "Save a copy without the password and add that.",
        )
    return UnreadableDocument(
        f"{name} begins like a PDF, but is damaged: {str(error).rstrip('.')}.",
        "Open it in a PDF viewer; if that works, print it to a new PDF and add that.",
    )


def _content(pdf: PdfDocument) -> tuple[list[str], list[list[Line]]]:
    texts: list[str] = []
    pages: list[list[Line]] = []
    for text_page in _text_pages(pdf):
        texts.append(_page_text(text_page))
        pages.append(page_lines(text_page))
    return texts, pages


def _text_pages(pdf: PdfDocument) -> Iterator[PdfTextPage]:
    for number in range(len(pdf)):
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text_page:
            yield text_page


def _page_text(text_page: PdfTextPage) -> str:
    text: str = text_page.get_text_range(errors="replace")
    return text.replace("\ufffe", "-\n").replace("\x02", "-").replace("\x00", "")


def _without_furniture(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    unwanted = furniture(
        [[line.text if len(line.segments) == 1 else "" for line in page] for page in pages]
    )
    return [
        [line for entry, line in enumerate(page) if (number, entry) not in unwanted]
        for number, page in enumerate(pages)
    ]


def _passages(pages: Sequence[Sequence[Line]], known: Container[str]) -> Iterator[Passage]:
    for number, lines in enumerate(pages, start=1):
        right = max((line.x1 for line in lines), default=0.0)
        paragraph: list[Line] = []
        for part in tables_and_lines([_with_markers_joined(line) for line in lines]):
            if isinstance(part, TableLines):
                yield from _paragraph(paragraph, number, known)
                paragraph = []
                yield Passage("", page=number, table=part.table)
            elif paragraph and not _same_paragraph(paragraph, part, right):
                yield from _paragraph(paragraph, number, known)
                paragraph = [part]
            else:
                paragraph.append(part)
        yield from _paragraph(paragraph, number, known)


def _with_markers_joined(line: Line) -> Line:
    """The line with a bullet or number that stands alone joined to what it marks."""
    first, *rest = line.segments
    if not rest or not is_marker(first.text):
        return line
    whole = Segment((*first.words, *rest[0].words))
    return Line((whole, *rest[1:]), line.y, line.height)


def _same_paragraph(paragraph: Sequence[Line], line: Line, right: float) -> bool:
    last = paragraph[-1]
    if line.bold != last.bold or abs(line.height - last.height) > 0.1 * last.height:
        return False
    if line.italic != last.italic and (line.italic or last.x1 < right * _SHORT_LINE):
        return False
    if bulleted(line.text).startswith("• ") or is_marker(line.text.split(" ", 1)[0]):
        return False
    gap = (last.y - line.y) / last.height
    goes_on = line.text[:1].islower() and last.x1 > right * _SHORT_LINE
    if not 0 < gap < (_LOOSE_GAP if goes_on else _PARAGRAPH_GAP):
        return False
    return not (last.text.endswith((".", ":")) and last.x1 < right * _SHORT_LINE)


def _paragraph(lines: Sequence[Line], page: int, known: Container[str]) -> Iterator[Passage]:
    if not lines:
        return
    text = bulleted(joined(mended("\n".join(line.text for line in lines), known).split("\n")))
    look = Look(
        size=round(lines[0].height * 2) / 2,
        bold=all(line.bold for line in lines),
        italic=all(line.italic for line in lines),
    )
    yield Passage(text, look, page=page, item=text.startswith("• "))
