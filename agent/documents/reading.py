"""Reading documents: from a file to its blocks in reading order and its visible text.

`read` takes a file, `read_bytes` its content. The content decides on the format, then a server's
declaration or the name. The module of a format is imported only when a file of that format is read. To add
a format, write a module in `formats` and list it in `_FORMATS`.
"""

from __future__ import annotations

import importlib
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from agent.documents.cover import date_of_name, title_of_name, with_cover
from agent.documents.document import (
    Block,
    NoText,
    ParsedDocument,
    Table,
    UnreadableDocument,
    damaged,
    encrypted,
)
from agent.documents.encoding import decode, marked_codec
from agent.documents.prose import is_blank, normal
from traces.plain_text import UNSAFE, plain

if TYPE_CHECKING:
    from agent.documents.formats.pdf_lines import ScannedPage

MAX_BYTES = 100 * 1024 * 1024

HTML = "text/html"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XLS = "application/vnd.ms-excel"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
ODP = "application/vnd.oasis.opendocument.presentation"
ODT = "application/vnd.oasis.opendocument.text"
RTF = "application/rtf"
EPUB = "application/epub+zip"
NOTEBOOK = "application/x-ipynb+json"
JSON = "application/json"
JSON_LINES = "application/jsonl"
YAML = "application/yaml"
XML = "application/xml"
CODE = "text/x-source"
MAIL = "message/rfc822"
MAILBOX = "application/mbox"
OUTLOOK = "application/vnd.ms-outlook"
ZIP = "application/zip"
PICTURE = "image/*"
MARKDOWN = "text/markdown"
CSV = "text/csv"
TEXT = "text/plain"
_TEXT_TYPES = frozenset(
    {HTML, NOTEBOOK, MAIL, MAILBOX, MARKDOWN, CSV, JSON, JSON_LINES, YAML, XML, CODE, TEXT}
)


@dataclass(frozen=True, slots=True)
class Format:
    """A supported file format."""

    media_type: str  # e.g. ``text/html``
    name: str  # its name for the user
    group: str  # one word for it and similar formats, used to filter documents
    suffixes: tuple[str, ...]  # file name extensions, in lower case with the dot
    reader: str  # module and function in the package `agent.documents.formats`
    keeps: str  # what is kept besides the text

    @property
    def is_text(self) -> bool:
        """Whether its bytes are text in some encoding."""
        return self.media_type in _TEXT_TYPES

    @property
    def has_scans(self) -> bool:
        """Whether pages may be pictures; its reader then takes the recognised text."""
        return self.media_type in {PDF, PICTURE}


_CODE_SUFFIXES = (
    ".py .pyi .js .mjs .jsx .ts .tsx .java .kt .scala .groovy .c .h .cc .cpp .hpp .cs .go .rs .swift .m "
    ".rb .php .pl .lua .r .jl .hs .ml .ex .exs .erl .clj .dart .vb .f90 .sql .sh .bash .zsh .ps1 .bat .css "
    ".scss .vue .tex .bib .toml .ini .cfg .conf .properties .proto .graphql .tf .cmake"
)
# Name, group, suffixes, reader, what is kept.
_FORMATS = {
    HTML: "HTML | html | .html .htm .xhtml | html.read_html | headings, tables; inline-XBRL filings",
    PDF: "PDF | pdf | .pdf | pdf.read_pdf | headings, tables, pages; scanned pages by OCR",
    DOCX: "DOCX | document | .docx | docx.read_docx | headings, tables, footnotes",
    XLSX: "Excel | spreadsheet | .xlsx .xlsm .xlsb | sheets.read_sheets | "
    "sheets, the tables on each, dates, formulas' values",
    XLS: "Excel before 2007 | spreadsheet | .xls | sheets.read_sheets | as in Excel",
    ODS: "OpenDocument spreadsheet | spreadsheet | .ods | sheets.read_sheets | as in Excel",
    PPTX: "PowerPoint | slides | .pptx .pptm .ppsx | slides.read_slides | "
    "slides as pages, their titles, tables, charts' numbers, notes",
    ODP: "OpenDocument presentation | slides | .odp | opendocument.read_opendocument | "
    "slides as pages, their titles, tables, notes",
    ODT: "OpenDocument text | document | .odt | opendocument.read_opendocument | "
    "headings, lists, tables, footnotes",
    RTF: "rich text | document | .rtf | text.read_rich_text | headings, lists, tables",
    EPUB: "e-book | book | .epub | archive.read_epub | chapters, headings, tables, the author",
    NOTEBOOK: "Jupyter notebook | notebook | .ipynb | markdown.read_notebook | "
    "headings, code, what it printed",
    MAIL: "mail | mail | .eml | mail.read_mail | "
    "sender, recipients, date, subject; attachments as documents, quoted mails apart",
    MAILBOX: "mailbox | mailbox | .mbox | mail.read_mailbox | every message as a document",
    OUTLOOK: "Outlook message | mail | .msg | mail.read_outlook | as in mail",
    PICTURE: "picture of text | picture | .png .jpg .jpeg .tif .tiff .webp | pdf.read_picture | "
    "by OCR: headings, tables, pages of a TIFF",
    ZIP: "ZIP archive | archive | .zip | archive.read_archive | every file as a document",
    MARKDOWN: "Markdown | text | .md .markdown | markdown.read_markdown | "
    "headings, tables, a front matter's title, date and author",
    CSV: "CSV | spreadsheet | .csv .tsv | sheets.read_delimited | the table",
    JSON: "JSON | data | .json | data.read_json | branches, records as tables",
    JSON_LINES: "JSON Lines | data | .jsonl .ndjson | data.read_json_lines | as in JSON",
    YAML: "YAML | data | .yaml .yml | data.read_yaml | as in JSON",
    XML: "XML | data | .xml | data.read_xml | as in JSON",
    CODE: f"source code | code | {_CODE_SUFFIXES} | text.read_source_code | its parts",
    TEXT: "text | text | .txt .text .rst .adoc .org | text.read_text | headings, lists, tables",
}

FORMATS = tuple(
    Format(media_type, name, group, tuple(suffixes.split()), reader, keeps)
    for media_type, row in _FORMATS.items()
    for name, group, suffixes, reader, keeps in [row.split(" | ")]
)
BY_TYPE = {kind.media_type: kind for kind in FORMATS}
MESSAGES = frozenset({MAIL, OUTLOOK})
MEDIA_TYPES = {suffix: kind.media_type for kind in FORMATS for suffix in kind.suffixes}
SUFFIXES = frozenset(MEDIA_TYPES)
PICTURES = frozenset(BY_TYPE[PICTURE].suffixes)
# Formats whose first lines may state the title and the date.
_WITH_COVER = frozenset({HTML, PDF, PICTURE, DOCX, ODT, ODP, RTF, MARKDOWN, NOTEBOOK, TEXT})
_MAY_HOLD_HTML = frozenset({MARKDOWN, CSV, NOTEBOOK, JSON, JSON_LINES, YAML, CODE, MAIL, MAILBOX})
_FROM_LINE = re.compile(rb"From \S[^\n]*\n[!-9;-~]+:")
_SERVED_TYPES = {
    HTML: HTML,
    "application/xhtml+xml": HTML,
    MARKDOWN: MARKDOWN,
    "text/x-markdown": MARKDOWN,
    CSV: CSV,
    "text/tab-separated-values": CSV,
}
_PICTURE_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*")
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|div|p|table|h[1-6])\b",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(
    rb"</?(?:p|div|span|table|t[rdh]|h[1-6]|body|main|section|article|ul|ol|li|d[ldt]|pre|center|font"
    rb"|a|b|i|em|strong|br)\b[^>]*>",
    re.IGNORECASE,
)
_UNSUPPORTED: dict[bytes | tuple[bytes, ...], tuple[str, str]] = {
    b"GIF8": ("a GIF picture", "Save it as PNG and add that."),
    (b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!"): ("a compressed file", "Unpack it and add what is in it."),
}
_OFFICE_TYPES = {"word": DOCX, "xl": XLSX, "ppt": PPTX}  # by the folder in the package
_STREAM_TYPES = {"__properties_version1.0": OUTLOOK, "Workbook": XLS, "Book": XLS}  # by a stream's name
_MOST_UNPACKED = 20  # times its own size that a document may unpack to
LEAST_UNPACKED = 1 << 29  # bytes that every document may unpack to
SAMPLE = 1 << 16  # bytes at the beginning that show whether a file is text, and which
_BLANK = b"\x00\t\n\r\f "
_TEXT_BYTES = bytes({*range(32, 256), *b"\t\n\r\f\x1b"})
_MOST_CONTROL = 0.02  # share of other control characters in a text


def read(path: Path, recognised: Mapping[int, ScannedPage] | None = None) -> ParsedDocument:
    """Read the file at ``path``. Its content decides on the format, and its name only if that is unclear.

    ``recognised`` is the recognised text of scanned pages, by page number; None if recognition is off.
    Pages not in it are listed in `ParsedDocument.scans`.

    Raises:
        UnreadableDocument: The file is missing, not accessible, empty, too large, binary, encrypted,
            damaged or of an unknown format. Errors of parsers are converted to this.
        NoText: The file has no text, as in a scan.
    """
    data, _ = read_file(path, str(path))
    return read_bytes(path.name, data, recognised)


def read_file(path: Path, name: str) -> tuple[bytes, int]:
    """The bytes of a file, and when it was last changed, in nanoseconds since 1970.

    Raises `UnreadableDocument`, which calls it ``name``, if it is too large or cannot be opened.
    """
    try:
        stat = path.stat()
        _refuse_large(name, stat.st_size)
        return path.read_bytes(), stat.st_mtime_ns
    except (OSError, ValueError) as error:
        raise cannot_open(name, error) from error


def cannot_open(name: str, error: OSError | ValueError) -> UnreadableDocument:
    """The error to raise for a file that cannot be opened because of ``error``."""
    reason = getattr(error, "strerror", None) or str(error)
    return UnreadableDocument(
        f"{name} cannot be opened: {reason}.", "Check that you may read it and that it is a file."
    )


def read_bytes(
    name: str,
    data: bytes,
    recognised: Mapping[int, ScannedPage] | None = None,
    *,
    served_as: str = "",
    charset: str = "",
) -> ParsedDocument:
    """Read ``data``. Its content decides on the format, and the other arguments only if that is unclear.

    ``name`` is the file name, ``served_as`` the media type and ``charset`` the encoding that a server
    declares, ``recognised`` as for `read`, which names the errors.
    """
    path = Path(name)
    _refuse_large(name, len(data))
    if not data.strip(_BLANK):
        raise UnreadableDocument(f"{name} is empty.", "Check that it is the file you meant.")
    notice = ""
    try:
        media_type = _media_type_of(path, data, served_as)
        notice = _misnaming_notice(path, media_type, served_as)
        if charset and BY_TYPE[media_type].is_text:
            data = decode(data, charset).encode("utf-8", "replace")
        document = _parse(path, data, media_type, recognised)
    except UnreadableDocument as error:
        _add_sentence(error, notice)
        raise
    except Exception as error:  # parsers raise all kinds of errors on damaged files
        raise _add_sentence(damaged(name, error), notice) from error
    return replace(document, notices=(*document.notices, notice)) if notice else document


def _add_sentence(error: UnreadableDocument, sentence: str) -> UnreadableDocument:
    error.message = f"{error.message} {sentence}".rstrip()
    return error


def _refuse_large(name: str, size: int) -> None:
    """Raise `UnreadableDocument` for a file of more than `MAX_BYTES`."""
    if size > MAX_BYTES:
        raise UnreadableDocument(
            f"{name} is {size / 2**20:,.0f} MB; at most {MAX_BYTES / 2**20:,.0f} MB are read.",
            "Split it, or convert it to plain text.",
        )


def _parse(
    path: Path, data: bytes, media_type: str, recognised: Mapping[int, ScannedPage] | None
) -> ParsedDocument:
    kind = BY_TYPE[media_type]
    module, _, function = kind.reader.rpartition(".")
    reader: Callable[..., ParsedDocument] = getattr(
        importlib.import_module(f"agent.documents.formats.{module}"), function
    )
    document = reader(path, data, recognised) if kind.has_scans else reader(path, data)
    if media_type in _WITH_COVER:
        document = with_cover(document, path)
    document = replace(
        document,
        blocks=tuple(map(_plain, document.blocks)),
        visible_text=plain(document.visible_text),
        media_type=media_type,
        title=normal(plain(document.title or title_of_name(path))),
        date=document.date or date_of_name(path),
        author=normal(plain(document.author)),
    )
    if not document.scans and all(is_blank(block.text) and not block.table for block in document.blocks):
        raise NoText(f"{path.name} contains no text.", "Check that it is the file you meant.")
    return document


def _plain(block: Block) -> Block:
    """The block without characters that control a terminal, are invisible or mislead."""
    if block.table is None:
        return replace(block, text=plain(block.text)) if UNSAFE.search(block.text) else block
    header, rows = (
        tuple(tuple(map(plain, row)) for row in part) for part in (block.table.header, block.table.rows)
    )
    return replace(block, table=Table(header, rows, plain(block.table.caption)))


def _media_type_of(path: Path, data: bytes, served_as: str = "") -> str:
    """The media type of ``data``.

    Among text formats, ``served_as`` takes precedence over the extension, unless it is only ``text/plain``,
    which servers also declare for Markdown and CSV. Raises `UnreadableDocument` if the format is not
    supported.
    """
    if data.startswith(b"PK\x03\x04"):
        return _type_of_zip(path.name, data)
    if b"%PDF-" in data[:1024]:  # after the archives, which may begin with a PDF that is not compressed
        return PDF
    if data.startswith(_PICTURE_SIGNATURES) or data[8:12] == b"WEBP":
        return PICTURE
    if data.startswith(b"{\\rtf"):
        return RTF
    if data.startswith(_OLE_SIGNATURE):
        return _type_of_ole(path.name, data)
    for marks, (kind, way_out) in _UNSUPPORTED.items():
        if data.startswith(marks):
            raise UnreadableDocument(f"{path.name} is {kind}, which cannot be read.", way_out)
    return _kind_of_text(path, data[:SAMPLE], served_as)


def is_text(name: str, data: bytes) -> bool:
    """Whether the content is text and not blank; ``data`` may be only its first `SAMPLE` bytes."""
    try:
        return bool(data.strip(_BLANK)) and BY_TYPE[_media_type_of(Path(name), data)].is_text
    except UnreadableDocument:
        return False


def _misnaming_notice(path: Path, media_type: str, served_as: str = "") -> str:
    """A sentence for the user if the name suggests another format than ``media_type``; else "".

    A server's declaration counts as well: the address of a page need not end like a file name.
    """
    named_type = MEDIA_TYPES.get(path.suffix.lower(), media_type)
    if media_type in {named_type, _SERVED_TYPES.get(served_as)}:
        return ""
    return (
        f"Its name ends in {path.suffix}, but its content is no {BY_TYPE[named_type].name}: "
        f"it was read as {BY_TYPE[media_type].name}."
    )


def _kind_of_text(path: Path, sample: bytes, served_as: str) -> str:
    if marked_codec(sample):
        sample = decode(sample).encode()
    if b"\x00" in sample or len(sample.translate(None, _TEXT_BYTES)) > _MOST_CONTROL * len(sample):
        named_type = MEDIA_TYPES.get(path.suffix.lower())
        kind = BY_TYPE[named_type].name if named_type else "a document"
        raise UnreadableDocument(
            f"{path.name} is a binary file, not {kind}.",
            "`deepthink library formats` lists the supported file types.",
        )
    by_name = _SERVED_TYPES.get(served_as) or MEDIA_TYPES.get(path.suffix.lower(), TEXT)
    if by_name in {MAILBOX, TEXT}:
        by_name = MAILBOX if _FROM_LINE.match(sample) else TEXT
    if by_name not in _MAY_HOLD_HTML and _HTML_START.match(sample):
        return HTML
    if by_name == HTML and not _TAG.search(sample):
        return TEXT
    if by_name in {XLSX, XLS, ODS}:
        return CSV  # many programs give their CSV exports such names
    if by_name == NOTEBOOK and not sample.lstrip().startswith(b"{"):
        return TEXT
    return by_name if BY_TYPE[by_name].is_text else TEXT


def _type_of_zip(name: str, data: bytes) -> str:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = {info.filename: info.file_size for info in archive.infolist()}
            declared = archive.read("mimetype").decode("ascii", "replace") if "mimetype" in members else ""
            is_encrypted = "META-INF/manifest.xml" in members and b":encryption-data" in archive.read(
                "META-INF/manifest.xml"
            )
    except zipfile.BadZipFile as error:
        raise UnreadableDocument(
            f"{name} is damaged: it begins like a ZIP file, but its end is missing.",
            "Open it in the program it comes from, save it again and add the new file.",
        ) from error
    if is_encrypted:
        raise encrypted(name)
    folders = {member.partition("/")[0] for member in members}
    kind = declared.strip()
    if kind not in BY_TYPE:
        kind = next((_OFFICE_TYPES[folder] for folder in _OFFICE_TYPES if folder in folders), "")
    if kind and sum(members.values()) > max(_MOST_UNPACKED * len(data), LEAST_UNPACKED):
        raise UnreadableDocument(
            f"{name} unpacks to far more than its own size and is not opened.",
            "Save it again without embedded files and pictures and add that.",
        )
    return kind or ZIP


def _type_of_ole(name: str, data: bytes) -> str:
    """The format of an OLE file (Office before 2007, Outlook), by its streams."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise encrypted(name)
    for stream, kind in _STREAM_TYPES.items():
        if stream.encode("utf-16-le") in data:
            return kind
    raise UnreadableDocument(
        f"{name} is in a format of Office before 2007, which cannot be read.",
        "Save it as DOCX or PDF and add that.",
    )
