"""E-books (EPUB): the chapters in order, each read as a web page."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from agent.documents.cover import stated_date, stated_title
from agent.documents.document import Block, ParsedDocument, UnreadableDocument
from agent.documents.formats.html import read_html
from agent.documents.prose import normal

if TYPE_CHECKING:
    from lxml.etree import _Element

_NAMES = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_PAGES = {"application/xhtml+xml", "text/html"}


def read_epub(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as an e-book.

    Raises:
        UnreadableDocument: Its chapters are encrypted.
    """
    from lxml import etree

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
        chapters = [
            read_html(Path(name), archive.read(posixpath.normpath(posixpath.join(folder, name))))
            for name in _reading_order(package)
        ]
    blocks: list[Block] = []
    for chapter in chapters:
        if chapter.blocks and all(block.kind != "heading" for block in chapter.blocks):
            blocks.append(Block("heading", chapter.title, level=1))
        blocks += chapter.blocks

    def metadata(name: str) -> str:
        return normal(package.findtext(f".//dc:{name}", "", _NAMES))

    return ParsedDocument(
        tuple(blocks),
        "\n".join(chapter.visible_text for chapter in chapters),
        title=stated_title(metadata("title"), blocks, path),
        date=stated_date([Block("text", metadata("date")[:10])]),
        author=metadata("creator"),
    )


def _reading_order(package: _Element) -> Iterator[str]:
    files: dict[str, Any] = {item.get("id"): item for item in package.iterfind(".//opf:item", _NAMES)}
    for reference in package.iterfind(".//opf:itemref", _NAMES):
        item = files.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _PAGES:
            yield unquote(item.get("href"))
