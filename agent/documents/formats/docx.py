"""Word documents (DOCX), by python-docx.

Paragraph and table objects are python-docx's; the order is read from the XML, because python-docx's own
iteration skips the text of content controls and tracked insertions.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.documents.cover import with_cover
from agent.documents.document import Block, Look, ParsedDocument
from agent.documents.outline import outlined
from agent.documents.prose import bulleted, normal, on_one_line
from agent.documents.tables import Cell, build_table

if TYPE_CHECKING:
    from docx.document import Document

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_NOTES = ("footnotes", "endnotes")
_BODY_SIZE = 11.0
_LONGEST_REPEATED = 8  # words; a cell over several rows that has more is not repeated in each, as in HTML
_DROPPED_TAGS = (f"{_MC}Fallback", f"{_W}moveFrom")  # an alternative version; text moved elsewhere
_TEXT_TAGS = tuple(f"{_W}{name}" for name in ("t", "tab", "br", "cr", "p", "noBreakHyphen"))


def read_docx(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as DOCX: body, then footnotes and endnotes."""
    import docx

    document = docx.Document(BytesIO(data))
    blocks = [*_body(document, document.element.body), *_notes(document)]
    properties = document.core_properties
    parsed = ParsedDocument(
        tuple(outlined(blocks)),
        _visible_text(data),
        title=properties.title or "",
        author=properties.author or "",
    )
    return with_cover(parsed, path)


def _body(document: Document, parent: Any) -> Iterator[Block]:
    for element in parent:
        if element.tag == f"{_W}p":
            yield from _paragraph(document, element)
        elif element.tag == f"{_W}tbl":
            yield from _table(document, element)
        elif element.tag in {f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}moveTo", f"{_W}customXml"}:
            yield from _body(document, element)


def _paragraph(document: Document, element: Any) -> Iterator[Block]:
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
    yield Block("text", bulleted(text), level, look=look, item=item)


def _level(style: str, element: Any) -> int:
    """A heading's level, by its style (python-docx gives English names) or its outline level."""
    if style == "Title":
        return 1
    name, _, number = style.rpartition(" ")
    if name == "Heading" and number.isdecimal():
        return min(6, int(number))
    outline = element.find(f"{_W}pPr/{_W}outlineLvl")
    outline_level = outline.get(f"{_W}val", "") if outline is not None else ""
    return int(outline_level) + 1 if outline_level.isdecimal() and int(outline_level) < 6 else 0


def _table(document: Document, element: Any) -> Iterator[Block]:
    """The table, then the tables in its cells; or its cells one by one, if it is only layout."""
    rows: list[list[Cell]] = []
    header = 0
    parts: list[Any] = []
    inner: list[tuple[str, Any]] = []  # tables in cells, each with the label of its row
    cells_above: dict[int, Cell] = {}  # by the column where they begin
    for row in _parts(element, "tr"):
        cells: list[Cell] = []
        column = _number(row, "trPr/gridBefore", 0)
        for part in _parts(row, "tc"):
            width = _number(part, "tcPr/gridSpan", 1)
            tables = [nested for nested in part.iter(f"{_W}tbl") if _is_real_table(nested, part)]
            text = normal(_text(part, without=tables))
            merged = part.find(f"{_W}tcPr/{_W}vMerge")
            if (
                merged is not None
                and merged.get(f"{_W}val", "continue") == "continue"
                and column in cells_above
            ):  # a lower part of a cell over several rows
                repeated = cells_above[column].text
                text = repeated if len(repeated.split()) <= _LONGEST_REPEATED else ""
            runs = [run for run in part.iter(f"{_W}r") if _text(run).strip()]
            is_bold = bool(runs) and all(run.find(f"{_W}rPr/{_W}b") is not None for run in runs)
            cells_above[column] = Cell(text, column, column + width, is_bold)
            cells.append(cells_above[column])
            parts.append(part)
            inner += [(cells[0].text, nested) for nested in tables]
            column += width
        if row.find(f"{_W}trPr/{_W}tblHeader") is not None and header == len(rows):
            header += 1
        rows.append(cells)
    table = build_table(rows, exact=True, header_rows=header or None)
    if table is None or 2 * len(inner) >= len(parts):
        for part in parts:
            yield from _body(document, part)
        return
    yield Block("table", table=table)
    for label, nested in inner:
        for block in _table(document, nested):
            table_with_caption = block.table and replace(block.table, caption=label)
            yield replace(block, table=table_with_caption)


def _is_real_table(nested: Any, cell: Any) -> bool:
    """Whether ``nested`` is directly in ``cell`` and has rows and columns: a separate table."""
    rows = [sum(1 for _ in _parts(row, "tc")) for row in _parts(nested, "tr")]
    return next(nested.iterancestors(f"{_W}tc")) is cell and len(rows) > 1 and max(rows) > 1


def _parts(element: Any, name: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, also in content controls, but not of nested tables."""
    for part in element.iter(f"{_W}{name}"):
        if next(part.iterancestors(element.tag)) is element:
            yield part


def _number(element: Any, path: str, default: int) -> int:
    node = element.find("/".join(f"{_W}{name}" for name in path.split("/")))
    value = node.get(f"{_W}val", "") if node is not None else ""
    return int(value) if value.isdecimal() else default


def _text(element: Any, without: Sequence[Any] = ()) -> str:
    """The text in an element, with insertions, without deletions and alternative versions."""
    return on_one_line(_text_parts(element, without))


def _text_parts(element: Any, without: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """The texts in an element, except those in ``without``, each with whether it is raised."""
    for part in element.iter(*_TEXT_TAGS):
        if any(ancestor.tag in _DROPPED_TAGS or ancestor in without for ancestor in part.iterancestors()):
            continue
        if part.tag == f"{_W}t":
            yield part.text or "", _is_raised(part.getparent())
        else:
            yield "-" if part.tag == f"{_W}noBreakHyphen" else " ", False


def _is_raised(run: Any) -> bool:
    position = run.find(f"{_W}rPr/{_W}vertAlign")
    return position is not None and position.get(f"{_W}val") == "superscript"


def _notes(document: Document) -> Iterator[Block]:
    from lxml import etree

    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(_NOTES):
            for note in etree.fromstring(relation.target_part.blob).iter(f"{_W}footnote", f"{_W}endnote"):
                if text := normal(_text(note)):
                    yield Block("text", text, look=Look(size=_BODY_SIZE))


def _visible_text(data: bytes) -> str:
    """All text of body and notes, directly from the XML of the package."""
    from lxml import etree

    lines: list[str] = []
    with zipfile.ZipFile(BytesIO(data)) as archive:
        for name in ("word/document.xml", *(f"word/{notes}.xml" for notes in _NOTES)):
            if name in archive.namelist():
                root = etree.fromstring(archive.read(name))
                for paragraph in root.iter(f"{_W}p"):
                    inner = [part for part in paragraph.iter(f"{_W}p") if part is not paragraph]
                    lines.append(normal(_text(paragraph, without=inner)))
    return "\n".join(filter(None, lines))
