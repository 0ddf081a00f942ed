"""PDF, by PDFium: text, headings, and tables found by how the segments of its lines align.

Pictures of text are read as pages of a PDF that are scans.

Measured on a 190-page 10-K, two cores: PDFium reads all text in 0.6 s (2.5 s with the box of every
character), pypdf in 11 s, pdfplumber in about 36 s. PDFium is not safe to call from two threads, so
one file is read at a time.

PDFs do not mark tables: a row is a line of several segments. Consecutive rows form a table, with the lines
of one segment between them (section rows, broken labels) and above them (units, a heading over some
columns).
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from io import BytesIO
from itertools import takewhile
from pathlib import Path

from pypdfium2 import PdfDocument, PdfiumError, PdfPage
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from agent.documents.document import (
    Block,
    Look,
    NoText,
    ParsedDocument,
    Table,
    UnreadableDocument,
    encrypted,
)
from agent.documents.formats.furniture import without_furniture
from agent.documents.formats.pdf_lines import (
    Line,
    ScannedPage,
    Segment,
    page_lines,
    scan_notices,
    scanned_lines,
    scanned_text,
    split_at_gaps,
)
from agent.documents.outline import outlined
from agent.documents.prose import bulleted, is_marker, joined, mended, words_of
from agent.documents.tables import Cell, build_table, is_unit, is_value

_MOST_LINES_BETWEEN = 5  # consecutive lines of one segment that a table may contain
_HEADER_GAP = 0.5
_HEAD_GAP = 2.2  # heights between two rows of one table's head
_PDFIUM_LOCK = threading.Lock()
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_PARAGRAPH_GAP = 1.45  # heights of a line
_LOOSE_GAP = 2.0  # the same, where the words show that the sentence continues
_SHORT_LINE = 0.8  # of the text's width
_MOST_CHARACTERS = 1_000_000  # on one page
_FEW_WORDS = 25  # on a page that may be a scan with a stamp
_LARGE_PICTURE = 0.5  # of the page's area, for a picture that is the page


def _tables_and_lines(lines: Sequence[Line]) -> list[Line | Table]:
    """The page's lines, with the lines of each table replaced by the table."""
    parts: list[Line | Table] = []
    index = 0
    while index < len(lines):
        end = _table_end(lines, index)
        if end is None:
            parts.append(lines[index])
            index += 1
            continue
        rows = list(lines[index:end])
        head_lines = _head(parts, rows)
        table = build_table([_cells(line) for line in [*head_lines, *rows]], exact=False)
        if table is None or sum(len(line.segments) > 1 for line in rows) < 2:
            parts.extend(rows)
        else:
            if head_lines:
                del parts[-len(head_lines) :]
            parts.append(table)
        index = end
    return parts


def _cells(line: Line) -> list[Cell]:
    parts: Sequence[Segment] = line.segments
    if not _has_values(line):  # names of columns are closer together than numbers
        parts = [
            Segment.of(words)
            for part in parts
            for words in split_at_gaps(part.words, line.height * _HEADER_GAP)
        ]
    return [Cell(part.text, part.x0, part.x1, part.bold) for part in parts]


def _table_end(lines: Sequence[Line], start: int) -> int | None:
    """The index after the last line of the table that begins at ``start``, or None if there is none."""
    if len(lines[start].segments) < 2:
        return None
    last = start
    has_values = _has_values(lines[start])
    while True:
        below = lines[last + 1 : last + 2 + _MOST_LINES_BETWEEN]
        lines_between = list(takewhile(lambda line: len(line.segments) < 2, below))
        next_row = last + 1 + len(lines_between)
        if len(lines_between) == len(below):
            break
        edge = _values_edge([*lines[start : last + 1], lines[next_row]])
        left = min(line.x0 for line in lines[start : next_row + 1])
        if not all(
            _fits(line, edge) or (not has_values and _heads(line, left, edge)) for line in lines_between
        ):
            break
        begins_table = not _has_values(lines[next_row]) and has_values
        if begins_table and (
            lines_between or lines[last].y - lines[next_row].y > _HEAD_GAP * lines[last].height
        ):
            break
        has_values = has_values or _has_values(lines[next_row])
        last = next_row
    end = last + 1
    while end < len(lines) and _continues(lines[end], lines[end - 1], lines[start].x0):
        end += 1
    return end


def _has_values(line: Line) -> bool:
    return any(is_value(part.text) for part in line.segments[1:])


def _values_edge(rows: Sequence[Line]) -> float:
    """The x position where values begin: only labels are to the left of it."""
    starts = [
        part.x0
        for row in rows
        for part in row.segments[1:]
        if is_value(part.text) or not any(is_value(p.text) for p in row.segments)
    ]
    return min(starts, default=0.0)


def _fits(line: Line, edge: float) -> bool:
    """Whether a line of one segment may be a row: the name of a section, or part of a broken label."""
    text = line.text
    return line.x1 <= edge + line.height and not text.endswith(".") and len(text.split()) <= 14


def _continues(line: Line, line_above: Line, left: float) -> bool:
    return (
        len(line.segments) == 1
        and len(line_above.segments) > 1
        and line.text[:1].islower()
        and abs(line.x0 - line_above.x0) < line_above.height
        and line_above.y - line.y < 1.5 * line_above.height
        and line.x1 - left < 0.7 * (line_above.x1 - left)
    )


def _head(parts: Sequence[Line | Table], rows: Sequence[Line]) -> list[Line]:
    """The lines of one segment directly above the first row that name columns or units."""
    edge = _values_edge(rows)
    left = min(line.x0 for line in rows)
    head: list[Line] = []
    lower_line = rows[0]
    for line in reversed(parts):
        if isinstance(line, Table) or len(line.segments) > 1:
            break
        is_near = line.y - lower_line.y < _HEAD_GAP * line.height
        if not is_near or not (is_unit(line.text) or _heads(line, left, edge)):
            break
        head.insert(0, line)
        lower_line = line
    return head


def _heads(line: Line, left: float, edge: float) -> bool:
    """Whether a line of one segment is above the values, and so names some columns."""
    over_values = line.x0 > edge - 5 * line.height and line.x0 > left + 2 * line.height
    return over_values and len(line.text.split()) <= 8


def read_pdf(path: Path, data: bytes, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
    """Read ``data`` as PDF.

    ``recognised`` is the text of scanned pages by page number; None if recognition is off. Raises
    `UnreadableDocument` if the file is encrypted or damaged, and `NoText` if no page has text (as in a
    scan) and recognition is off.
    """
    with open_pdf(path.name, data) as pdf:
        declared, author = pdf.get_metadata_value("Title"), pdf.get_metadata_value("Author")
        texts, pages, scans = _content(pdf)
    if recognised is None and len(scans) == len(texts):
        raise NoText(
            f"{path.name} has no text on any of its pages ({len(texts)}): it is probably a scan.",
            "Turn on text recognition with `deepthink config set ocr true`.",
        )
    scanned = recognised or {}
    for number, page in scanned.items():
        texts[number - 1], pages[number - 1] = scanned_text(page), scanned_lines(page)
    text = "\n".join(texts)
    vocabulary = words_of(text)
    document = _document(pages, vocabulary, mended(text, vocabulary), scans, scanned)
    if scans and recognised is None:
        off = f"{len(scans)} of {len(texts)} pages are scans, and text recognition is off."
        document = replace(document, notices=(off,))
    # A library that writes PDFs calls an author who is not given so.
    is_unnamed = author.strip("()") == "anonymous"
    return replace(document, title=declared, author="" if is_unnamed else author)


def read_picture(path: Path, data: bytes, recognised: Mapping[int, ScannedPage] | None) -> ParsedDocument:
    """Read ``data`` as a picture of one page, or of several (TIFF).

    Raises `NoText` if text recognition is off.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(data)) as picture:
            count = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
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
    numbers = range(1, count + 1)
    pages = [scanned_lines(recognised[number]) if number in recognised else [] for number in numbers]
    text = "\n".join(map(scanned_text, recognised.values()))
    return _document(pages, frozenset(), text, numbers, recognised)


def _document(
    pages: Sequence[Sequence[Line]],
    vocabulary: Container[str],
    text: str,
    scans: Iterable[int],
    scanned: Mapping[int, ScannedPage],
) -> ParsedDocument:
    """The document of these pages; ``scans`` of them are ``scanned`` already, or will be.

    ``vocabulary`` contains the words of the document, which may be broken at the ends of lines.
    """
    kept = without_furniture(pages, lambda line: line.text if len(line.segments) == 1 else "")
    return ParsedDocument(
        tuple(outlined(list(_blocks(kept, vocabulary)))),
        text,
        pages=len(pages),
        notices=tuple(scan_notices(scanned, len(pages))),
        scans=tuple(number for number in scans if number not in scanned),
    )


@contextmanager
def open_pdf(name: str, data: bytes) -> Iterator[PdfDocument]:
    """Open a PDF; no other PDF can be opened until it is closed."""
    with _PDFIUM_LOCK:
        try:
            with closing(PdfDocument(data)) as pdf:
                yield pdf
        except PdfiumError as error:
            if getattr(error, "err_code", None) == _PASSWORD_ERROR:
                raise encrypted(name) from error
            raise UnreadableDocument(
                f"{name} begins like a PDF, but is damaged: {str(error).rstrip('.')}.",
                "Open it in a PDF viewer; if that works, print it to a new PDF and add that.",
            ) from error


def _content(pdf: PdfDocument) -> tuple[list[str], list[list[Line]], list[int]]:
    """The text and lines of each page, and the numbers of scanned pages."""
    texts: list[str] = []
    pages: list[list[Line]] = []
    scans: list[int] = []
    for number in range(1, len(pdf) + 1):
        with closing(pdf[number - 1]) as page, closing(page.get_textpage()) as text_page:
            if text_page.count_chars() > _MOST_CHARACTERS:
                raise UnreadableDocument(
                    f"Page {number} has over {_MOST_CHARACTERS:,} characters, more than a page holds.",
                    "Print it to a new PDF without that page, and add that.",
                )
            text = text_page.get_text_range(errors="replace")
            texts.append(text.replace("\ufffe", "-\n").replace("\x02", "-").replace("\x00", ""))
            pages.append(page_lines(text_page))
            if len(texts[-1].split()) < _FEW_WORDS and _is_scan(page, has_text=bool(texts[-1].strip())):
                scans.append(number)
    return texts, pages, scans


def _is_scan(page: PdfPage, *, has_text: bool) -> bool:
    """Whether a page of few words is a scan: it has content but no text, or a large picture."""
    if not has_text:
        return next(page.get_objects(max_depth=1), None) is not None
    width, height = page.get_size()
    for picture in page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE]):
        left, bottom, right, top = picture.get_bounds()
        if (right - left) * (top - bottom) > _LARGE_PICTURE * width * height:
            return True
    return False


def _blocks(pages: Sequence[Sequence[Line]], vocabulary: Container[str]) -> Iterator[Block]:
    for number, lines in enumerate(pages, start=1):
        right = max((line.x1 for line in lines), default=0.0)
        paragraph: list[Line] = []
        for part in _tables_and_lines([_with_markers_joined(line) for line in lines]):
            if isinstance(part, Table):
                yield from _paragraph(paragraph, number, vocabulary)
                paragraph = []
                yield Block("table", page=number, table=part)
            elif paragraph and not _same_paragraph(paragraph, part, right):
                yield from _paragraph(paragraph, number, vocabulary)
                paragraph = [part]
            else:
                paragraph.append(part)
        yield from _paragraph(paragraph, number, vocabulary)


def _with_markers_joined(line: Line) -> Line:
    """The line with a separate bullet or number joined to the text it marks."""
    first, *rest = line.segments
    if not rest or not is_marker(first.text):
        return line
    merged = Segment.of([*first.words, *rest[0].words])
    return Line.of([merged, *rest[1:]], line.y, line.height)


def _same_paragraph(paragraph: Sequence[Line], line: Line, right: float) -> bool:
    last = paragraph[-1]
    if line.bold != last.bold or abs(line.height - last.height) > 0.1 * last.height:
        return False
    if line.italic != last.italic and (line.italic or last.x1 < right * _SHORT_LINE):
        return False
    if bulleted(line.text).startswith("• ") or is_marker(line.text.split(" ", 1)[0]):
        return False
    gap = (last.y - line.y) / last.height
    continues_sentence = line.text[:1].islower() and last.x1 > right * _SHORT_LINE
    if not 0 < gap < (_LOOSE_GAP if continues_sentence else _PARAGRAPH_GAP):
        return False
    return not (last.text.endswith((".", ":")) and last.x1 < right * _SHORT_LINE)


def _paragraph(lines: Sequence[Line], page: int, vocabulary: Container[str]) -> Iterator[Block]:
    if not lines:
        return
    text = bulleted(joined(mended("\n".join(line.text for line in lines), vocabulary).split("\n")))
    look = Look(
        size=round(lines[0].height * 2) / 2,
        bold=all(line.bold for line in lines),
        italic=all(line.italic for line in lines),
    )
    yield Block("text", text, page=page, look=look, item=text.startswith("• "))
