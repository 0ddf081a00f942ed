"""Word documents (DOCX), by python-docx.

Paragraph and table objects are python-docx's; the order is read from the XML, since content controls
and tracked insertions hold text that its own iteration passes over.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.reading.columns import Cell
from agent.reading.cover import stated_date, stated_title
from agent.reading.document import ParsedDocument
from agent.reading.grid import build_table
from agent.reading.outline import Look, Passage, outlined
from agent.reading.prose import bulleted, normal
from agent.reading.superscript import on_one_line

if TYPE_CHECKING:
    from docx.document import Document

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_NOTES = ("footnotes", "endnotes")
_BODY_SIZE = 11.0
_SPOKEN = tuple(f"{_W}{name}" for name in ("t", "tab", "br", "cr", "p", "noBreakHyphen"))


def read_docx(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as DOCX: body, then footnotes and endnotes."""
    import docx

    document = docx.Document(BytesIO(data))
    passages = [*_body(document, document.element.body), *_notes(document)]
    blocks = outlined(passages)
    return ParsedDocument(
        title=stated_title(normal(document.core_properties.title or ""), blocks, path),
        media_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        blocks=tuple(blocks),
        visible_text=_visible_text(data),
        date=stated_date(blocks),
    )


def _body(document: Document, parent: Any) -> Iterator[Passage]:
    for element in parent:
        if element.tag == f"{_W}p":
            yield from _paragraph(document, element)
        elif element.tag == f"{_W}tbl":
            yield from _table(document, element)
        elif element.tag in {f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml"}:
            yield from _body(document, element)


def _paragraph(document: Document, element: Any) -> Iterator[Passage]:
    from docx.text.paragraph import Paragraph

    text = normal(_text(element))
    if not text:
        return
    paragraph = Paragraph(element, document._body)
    style = (paragraph.style.name or "") if paragraph.style is not None else ""
    level = _level(style, element)
    item = not level and (style.startswith("List") or element.find(f".//{_W}numPr") is not None)
    if item and not bulleted(text).startswith("• "):
        text = f"• {text}"
    runs = [run for run in paragraph.runs if run.text.strip()]
    look = Look(
        size=max((run.font.size.pt for run in runs if run.font.size), default=_BODY_SIZE),
        bold=bool(runs) and all(run.bold for run in runs),
        italic=bool(runs) and all(run.italic for run in runs),
        underlined=bool(runs) and all(run.underline for run in runs),
    )
    yield Passage(bulleted(text), look, level, item=item)


def _level(style: str, element: Any) -> int:
    """The level of a heading by its style or its own outline level; python-docx gives English names."""
    if style == "Title":
        return 1
    name, _, number = style.rpartition(" ")
    if name == "Heading" and number.isdecimal():
        return min(6, int(number))
    outline = element.find(f"{_W}pPr/{_W}outlineLvl")
    own = outline.get(f"{_W}val", "") if outline is not None else ""
    return int(own) + 1 if own.isdecimal() and int(own) < 6 else 0


def _table(document: Document, element: Any) -> Iterator[Passage]:
    rows: list[list[Cell]] = []
    header = 0
    nested: list[Any] = []
    for row in element.iter(f"{_W}tr"):
        if next(row.iterancestors(f"{_W}tbl")) is not element:
            continue
        cells: list[Cell] = []
        column = 0
        for cell in row.iter(f"{_W}tc"):
            if next(cell.iterancestors(f"{_W}tr")) is not row:
                continue
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            width = int(span.get(f"{_W}val", "1")) if span is not None else 1
            nested.extend(cell.iter(f"{_W}tbl"))
            cells.append(Cell(normal(_text(cell)), column, column + width, _is_bold(cell)))
            column += width
        if row.find(f"{_W}trPr/{_W}tblHeader") is not None and header == len(rows):
            header += 1
        rows.append(cells)
    if nested or (table := build_table(rows, exact=True, header_rows=header or None)) is None:
        for cell in element.iterchildren(f"{_W}tr"):
            for part in cell.iterchildren(f"{_W}tc"):
                yield from _body(document, part)
    else:
        yield Passage("", table=table)


def _is_bold(cell: Any) -> bool:
    runs = [run for run in cell.iter(f"{_W}r") if _text(run).strip()]
    return bool(runs) and all(run.find(f"{_W}rPr/{_W}b") is not None for run in runs)


def _text(element: Any) -> str:
    """The words inside an element, inserted ones included, deleted ones and second versions not."""
    return on_one_line(_spoken(element))


def _spoken(element: Any) -> Iterator[tuple[str, bool]]:
    """The texts inside an element, each with whether it is raised."""
    for part in element.iter(*_SPOKEN):
        if any(True for _ in part.iterancestors(f"{_MC}Fallback")):
            continue
        if part.tag == f"{_W}t":
            yield part.text or "", _is_raised(part.getparent())
        else:
            yield "-" if part.tag == f"{_W}noBreakHyphen" else " ", False


def _is_raised(run: Any) -> bool:
    position = run.find(f"{_W}rPr/{_W}vertAlign")
    return position is not None and position.get(f"{_W}val") == "superscript"


def _notes(document: Document) -> Iterator[Passage]:
    from lxml import etree

    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(_NOTES):
            for note in etree.fromstring(relation.target_part.blob).iter(f"{_W}footnote", f"{_W}endnote"):
                if text := normal(_text(note)):
                    yield Passage(text, Look(size=_BODY_SIZE))


def _visible_text(data: bytes) -> str:
    """All text of body and notes, straight from the parts of the package."""
    from lxml import etree

    lines: list[str] = []
    with zipfile.ZipFile(BytesIO(data)) as archive:
        for name in ("word/document.xml", *(f"word/{notes}.xml" for notes in _NOTES)):
            if name in archive.namelist():
                root = etree.fromstring(archive.read(name))
                etree.strip_elements(root, f"{_MC}Fallback", with_tail=False)
                for paragraph in root.iter(f"{_W}p"):
                    own = (
                        (node.text or "", _is_raised(node.getparent()))
                        if node.tag == f"{_W}t"
                        else (" ", False)
                        for node in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br")
                        if next(node.iterancestors(f"{_W}p")) is paragraph
                    )
                    lines.append(normal(on_one_line(own)))
    return "\n".join(line for line in lines if line)
