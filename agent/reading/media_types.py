"""What a file is, by what is in it first, and by what a server or its name says second."""

from __future__ import annotations

import codecs
import re
import zipfile
from io import BytesIO
from pathlib import Path

from agent.reading.document import UnreadableDocument
from agent.reading.encoding import decode

HTML = "text/html"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MARKDOWN = "text/markdown"
CSV = "text/csv"
TEXT = "text/plain"

MEDIA_TYPES = {
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".csv": CSV,
    ".tsv": CSV,
    ".txt": TEXT,
    ".text": TEXT,
}

_SERVED = {
    HTML: HTML,
    "application/xhtml+xml": HTML,
    MARKDOWN: MARKDOWN,
    "text/x-markdown": MARKDOWN,
    CSV: CSV,
    "text/tab-separated-values": CSV,
}

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # UTF-32 LE begins as 16
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
_FOREIGN = (
    (b"{\\rtf", "a rich-text (RTF) file", "Save it as DOCX or PDF and add that."),
    (b"\x89PNG", "an image", "Make its text readable with OCR and add the result."),
    (b"\xff\xd8\xff", "an image", "Make its text readable with OCR and add the result."),
    (b"II*\x00", "an image", "Make its text readable with OCR and add the result."),
    (b"MM\x00*", "an image", "Make its text readable with OCR and add the result."),
    (b"GIF8", "an image", "Make its text readable with OCR and add the result."),
    (b"\x1f\x8b", "a compressed file", "Unpack it and add what is in it."),
    (b"7z\xbc\xaf", "a compressed file", "Unpack it and add what is in it."),
    (b"Rar!", "a compressed file", "Unpack it and add what is in it."),
)
_MOST_UNPACKED = 20  # times its own size a document may unpack to
_SAMPLE = 1 << 16


def media_type_of(path: Path, data: bytes, served_as: str = "") -> str:
    """The media type of ``data``, whatever ``path`` is called.

    Among the kinds of text, ``served_as`` decides before the ending of the name does, unless it says
    only that it is text: servers give Markdown and CSV out as that.

    Raises:
        UnreadableDocument: It is of a kind that cannot be read, such as a spreadsheet or an image.
    """
    if b"%PDF-" in data[:1024]:
        return PDF
    if data.startswith(b"PK\x03\x04"):
        return _zipped(path.name, data)
    if data.startswith(_OLE):
        raise _old_or_encrypted(path.name, data)
    for mark, kind, way_out in _FOREIGN:
        if data.startswith(mark):
            raise UnreadableDocument(f"{path.name} is {kind}, which cannot be read.", way_out)
    sample = data[:_SAMPLE]
    if sample.startswith(_WIDE_MARKS):
        sample = decode(sample).encode()
    elif _is_binary(sample):
        raise UnreadableDocument(
            f"{path.name} is a binary file, not a document.",
            "Add HTML, PDF, DOCX, Markdown, CSV or plain text.",
        )
    by_name = _SERVED.get(served_as) or MEDIA_TYPES.get(path.suffix.lower(), TEXT)
    if by_name not in {MARKDOWN, CSV} and _HTML_START.match(sample):
        return HTML
    if by_name == HTML and not _TAG.search(sample):
        return TEXT
    return TEXT if by_name in {PDF, DOCX} else by_name


def _zipped(name: str, data: bytes) -> str:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = {info.filename: info.file_size for info in archive.infolist()}
    except zipfile.BadZipFile as error:
        raise UnreadableDocument(
            f"{name} is damaged: it begins like a Word document and does not end like one.",
            "Open it in Word or LibreOffice, save it again and add the new file.",
        ) from error
    if sum(members.values()) > max(_MOST_UNPACKED * len(data), 1 << 26):
        raise UnreadableDocument(
            f"{name} unpacks to far more than its own size and is not opened.",
            "Save it again without embedded files and pictures and add that.",
        )
    if "word/document.xml" in members:
        return DOCX
    kinds = (("xl/", "a spreadsheet", "CSV"), ("ppt/", "a presentation", "PDF"))
    for folder, kind, other in kinds:
        if any(member.startswith(folder) for member in members):
            raise UnreadableDocument(
                f"{name} is {kind}, which cannot be read.", f"Export it as {other} and add that."
            )
    if any(member.startswith("word/") for member in members):
        return DOCX
    raise UnreadableDocument(
        f"{name} is a compressed file, not a document.", "Unpack it and add what is in it."
    )


def _old_or_encrypted(name: str, data: bytes) -> UnreadableDocument:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return UnreadableDocument(
            f"{name} is encrypted and opens only with a password.",
            "Save a copy without the password and add that.",
        )
    return UnreadableDocument(
        f"{name} is in the format of Office before 2007, which cannot be read.",
        "Save it as DOCX or PDF and add that.",
    )


def _is_binary(sample: bytes) -> bool:
    if b"\x00" in sample:
        return True
    control = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in sample)
    return control > 0.02 * len(sample)
