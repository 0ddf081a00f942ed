"""OpenDocument texts and presentations (ODT, ODP), directly from the XML in the package."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from lxml import etree

from agent.documents.document import Block, ParsedDocument
from agent.documents.outline import outlined
from agent.documents.prose import normal
from agent.documents.tables import Cell, build_table

_NAMES = {
    name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"
    for name in ("office", "text", "table", "presentation", "meta")
} | {"draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0", "dc": "http://purl.org/dc/elements/1.1/"}
_PROPERTIES = ("dc:title", "meta:initial-creator", "dc:creator")


def _tag(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_NAMES[prefix]}}}{local}"


_PARAGRAPHS = (_tag("text:h"), _tag("text:p"))
_ITEM = _tag("text:list-item")
_NOTE = _tag("text:note-body")
_TABLE = _tag("table:table")
_UNSEEN = tuple(
    map(_tag, ("text:tracked-changes", "office:annotation", "text:note-citation", "text:page-number"))
)
_SPACES = {_tag("text:s"), _tag("text:tab"), _tag("text:line-break")}


def read_opendocument(_path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as an OpenDocument text or presentation."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        content = etree.fromstring(archive.read("content.xml"))
        meta = etree.fromstring(archive.read("meta.xml")) if "meta.xml" in archive.namelist() else None
    body = content.find("office:body", _NAMES)
    etree.strip_elements(body, *_UNSEEN, with_tail=False)
    lines = [normal("".join(_own_text(paragraph))) for paragraph in body.iter(*_PARAGRAPHS)]
    slides = body.findall("office:presentation/draw:page", _NAMES)
    if slides:
        blocks = [block for number, slide in enumerate(slides, 1) for block in _slide(slide, number)]
    else:
        notes = (p for note in body.iter(_NOTE) for p in _blocks(note))
        blocks = outlined([*_blocks(body), *notes], by_look=False)
    properties = (
        {} if meta is None else {name: meta.findtext(f".//{name}", "", _NAMES) for name in _PROPERTIES}
    )
    return ParsedDocument(
        tuple(blocks),
        "\n".join(filter(None, lines)),
        title=properties.get("dc:title", ""),
        pages=len(slides) or None,
        author=properties.get("meta:initial-creator") or properties.get("dc:creator") or "",
    )


def _blocks(parent: Any) -> Iterator[Block]:
    """The paragraphs and tables in an element; those of notes only if the element is a note."""
    for element in parent:
        if element.tag in _PARAGRAPHS:
            level = element.get(_tag("text:outline-level"), "1") if element.tag == _PARAGRAPHS[0] else "0"
            item = any(ancestor.tag == _ITEM for ancestor in element.iterancestors())
            if text := normal("".join(_own_text(element))):
                bullet = "• " if item and level == "0" else ""
                yield Block("text", bullet + text, level=min(6, int(level)), item=item)
            for frame in element.iter(_tag("draw:text-box")):
                yield from _blocks(frame)
        elif element.tag == _TABLE:
            yield from _table(element)
        else:
            yield from _blocks(element)


def _own_text(paragraph: Any) -> Iterator[str]:
    """The text of a paragraph, without the notes and text boxes in it."""
    yield paragraph.text or ""
    for part in paragraph:
        if part.tag in _SPACES:
            yield " "
        elif part.tag not in _PARAGRAPHS and isinstance(part.tag, str):
            yield from _own_text(part)
        yield part.tail or ""


def _table(element: Any) -> Iterator[Block]:
    """The table, or the content of its cells if it is only layout."""
    rows: list[list[Cell]] = []
    header = 0
    for row in element.iter(_tag("table:table-row")):
        if next(row.iterancestors(_TABLE)) is not element:
            continue
        cells: list[Cell] = []
        column = 0
        for cell in row.iterchildren(_tag("table:table-cell"), _tag("table:covered-table-cell")):
            text = normal(" ".join("".join(_own_text(p)) for p in cell.iter(*_PARAGRAPHS)))
            width = int(cell.get(_tag("table:number-columns-spanned"), "1"))
            cells += [Cell(text, column, column + width)] if text else []
            column += int(cell.get(_tag("table:number-columns-repeated"), "1"))
        header += row.getparent().tag == _tag("table:table-header-rows")
        rows.append(cells)
    if table := build_table(rows, exact=True, header_rows=header or None):
        yield Block("table", table=table)
    else:
        for cell in element.iter(_tag("table:table-cell")):
            if next(cell.iterancestors(_TABLE)) is element:
                yield from _blocks(cell)


def slide_blocks(
    number: int, title: str, content: Iterable[Block], notes: Iterable[str]
) -> Iterator[Block]:
    """A slide below its heading; without one, its text would belong to the slide before."""
    yield Block("heading", normal(title) or f"Slide {number}", level=1, page=number)
    yield from (replace(block, page=number) for block in content)
    if text := normal(" ".join(notes)):
        yield Block("text", f"Notes: {text}", page=number)


def _slide(slide: Any, number: int) -> Iterator[Block]:
    notes = slide.find("presentation:notes", _NAMES)
    if notes is not None:
        slide.remove(notes)
    title = ""
    for frame in slide.findall("draw:frame", _NAMES):
        if frame.get(_tag("presentation:class")) == "title":
            title = title or " ".join(block.text for block in _blocks(frame))
            slide.remove(frame)
    content = (replace(block, level=0) for block in _blocks(slide))
    note_texts = () if notes is None else (block.text for block in _blocks(notes))
    return slide_blocks(number, title, content, note_texts)
