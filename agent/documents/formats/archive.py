"""ZIP archives, each file as a document of its own, and e-books (EPUB), each chapter read as a web page."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from lxml import etree

from agent.documents.cover import full_date, stated_title
from agent.documents.document import Block, ParsedDocument, UnreadableDocument, with_unique_names
from agent.documents.formats.html import read_html
from agent.documents.prose import normal

_MOST_FILES = 10_000
_MOST_BYTES = 1 << 31
_MOST_UNPACKED = 200  # times its packed size that a file larger than `_SMALL_FILE` may have
_SMALL_FILE = 1 << 24
_ENCRYPTED_FLAG = 0x1
_UNWANTED = (".", "~$", "__MACOSX")  # hidden, or of the program that made the archive
_NAMES_PER_PARAGRAPH = 50

_NAMES = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_PAGES = {"application/xhtml+xml", "text/html"}


def read_archive(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a ZIP archive; each file is unpacked only when its content is read.

    Raises `UnreadableDocument` if it has too many files, or is too large when unpacked.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = [
            member
            for member in archive.infolist()
            if not member.is_dir()
            and not any(part.startswith(_UNWANTED) for part in PurePosixPath(member.filename).parts)
        ]
    if len(members) > _MOST_FILES or sum(member.file_size for member in members) > _MOST_BYTES:
        raise UnreadableDocument(
            f"{path.name} contains over {_MOST_FILES:,} files or {_MOST_BYTES >> 30} GB and is not opened.",
            "Unpack it and add the folder.",
        )
    readable = [member for member in members if not _is_refused(member)]
    names = [posixpath.normpath(f"/{member.filename}").lstrip("/") for member in members]
    refused = len(members) - len(readable)

    return ParsedDocument(
        blocks=tuple(
            Block("text", "\n".join(names[start : start + _NAMES_PER_PARAGRAPH]))
            for start in range(0, len(names), _NAMES_PER_PARAGRAPH)
        ),
        visible_text="\n".join(names),
        notices=(
            (f"{refused} of its {len(members)} files need a password or unpack to too much.",)
            if refused
            else ()
        ),
        enclosed=tuple(
            with_unique_names((member.filename, partial(_unpacked, data, member)) for member in readable)
        ),
    )


def _unpacked(data: bytes, member: zipfile.ZipInfo) -> bytes:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return archive.read(member)


def _is_refused(member: zipfile.ZipInfo) -> bool:
    bomb = member.file_size > max(_SMALL_FILE, _MOST_UNPACKED * member.compress_size)
    return bomb or bool(member.flag_bits & _ENCRYPTED_FLAG)


def read_epub(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as an e-book. Raises `UnreadableDocument` if its chapters are encrypted."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        # Obfuscated fonts alone do not lock a book, but a licence does.
        if not {"META-INF/rights.xml", "META-INF/license.lcpl"}.isdisjoint(archive.namelist()):
            raise UnreadableDocument(
                f"{path.name} is protected and opens only in the shop's own program.",
                "Add a copy without protection, if you have one.",
            )
        root = etree.fromstring(archive.read("META-INF/container.xml")).find(".//c:rootfile", _NAMES)
        package_name = root.get("full-path")
        package = etree.fromstring(archive.read(package_name))
        folder = posixpath.dirname(package_name)
        blocks: list[Block] = []
        texts: list[str] = []
        for name in _reading_order(package):
            file = Path(name)
            chapter = read_html(file, archive.read(posixpath.normpath(posixpath.join(folder, name))))
            if chapter.blocks and all(block.kind != "heading" for block in chapter.blocks):
                title = stated_title(normal(chapter.title), chapter.blocks, file)
                blocks.append(Block("heading", title, level=1))
            blocks += chapter.blocks
            texts.append(chapter.visible_text)

    def metadata(name: str) -> str:
        return normal(package.findtext(f".//dc:{name}", "", _NAMES))

    return ParsedDocument(
        tuple(blocks),
        "\n".join(texts),
        title=stated_title(metadata("title"), blocks, path),
        date=full_date(metadata("date")[:10]),
        author=metadata("creator"),
    )


def _reading_order(package: etree._Element) -> Iterator[str]:
    files: dict[str, Any] = {item.get("id"): item for item in package.iterfind(".//opf:item", _NAMES)}
    for reference in package.iterfind(".//opf:itemref", _NAMES):
        item = files.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _PAGES:
            yield unquote(item.get("href"))
