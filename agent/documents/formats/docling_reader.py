"""PDF by Docling, if it is installed and its models are on disk.

Docling's layout and table models read scans and difficult layouts. They take gigabytes, so Docling is an
extra: without the package or the models folder nothing here runs, and nothing is downloaded. The tests
use a stand-in for Docling's classes, not Docling itself.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from agent.documents.cover import with_cover
from agent.documents.document import ParsedDocument, Table
from agent.documents.outline import Look, Passage, outlined
from agent.documents.prose import bulleted, normal
from agent.documents.tables import Cell, build_table

_FURNITURE = {"page_header", "page_footer"}
_HEADINGS = {"title", "section_header"}


def models_folder() -> Path | None:
    """The folder of Docling's models: ``DOCLING_ARTIFACTS_PATH``, else where its own tool puts them."""
    named = os.environ.get("DOCLING_ARTIFACTS_PATH")
    folder = Path(named) if named else Path.home() / ".cache" / "docling" / "models"
    return folder if folder.is_dir() and any(folder.iterdir()) else None


def read_with_docling(
    path: Path, data: bytes, page_texts: Callable[[str, bytes], list[str]]
) -> ParsedDocument | None:
    """Read a PDF with Docling; None if Docling or its models are missing, or it finds nothing.

    Args:
        path: The file's name.
        data: The file's content.
        page_texts: Extracts the text of each page.

    Raises:
        UnreadableDocument: The file is encrypted or damaged.
    """
    folder = models_folder()
    if folder is None or importlib.util.find_spec("docling") is None:
        return None
    from docling.datamodel.base_models import DocumentStream, InputFormat
    from docling.datamodel.pipeline_options import PdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption
    from docling.exceptions import ConversionError

    texts = page_texts(path.name, data)
    options = PdfPipelineOptions(artifacts_path=folder)  # given a folder, it fetches nothing
    converter = DocumentConverter(
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)}
    )
    try:
        converted = converter.convert(DocumentStream(name=path.name, stream=BytesIO(data))).document
    except ConversionError:
        return None  # PDFium has just opened the file and can read it
    passages = list(_passages(converted))
    if not passages:
        return None
    blocks = outlined(passages, by_look=False)
    visible = texts if any(map(str.strip, texts)) else _texts(passages)
    document = ParsedDocument(
        tuple(blocks), "\n".join(visible), pages=len(texts), notices=("Read with Docling.",)
    )
    return with_cover(document, path)


def _passages(converted: Any) -> Iterator[Passage]:
    for item, _ in converted.iterate_items():
        label = str(getattr(item.label, "value", item.label))
        page = item.prov[0].page_no if item.prov else None
        data = getattr(item, "data", None)
        if data is not None and hasattr(data, "grid"):
            if table := _table(data.grid):
                yield Passage("", page=page, table=table)
            continue
        text = normal(getattr(item, "text", ""))
        if not text or label in _FURNITURE:
            continue
        heading = label in _HEADINGS
        level = 1 if label == "title" else 1 + int(getattr(item, "level", 1)) if heading else 0
        listed = label == "list_item"
        text = bulleted(text) if not listed or text[0] in "•●" else f"• {text}"
        yield Passage(text, Look(bold=heading), level, page, item=listed)


def _table(grid: Any) -> Table | None:
    """The table; Docling repeats a cell in every square it covers, and each row takes it once."""
    rows: list[list[Cell]] = []
    header = 0
    for squares in grid:
        cells: dict[int, Cell] = {}
        for square in squares:
            start, end = square.start_col_offset_idx, square.end_col_offset_idx
            cells.setdefault(start, Cell(normal(square.text), start, end, bool(square.column_header)))
        named = bool(squares) and all(square.column_header for square in squares)
        header += named and header == len(rows)
        rows.append(list(cells.values()))
    return build_table(rows, exact=True, header_rows=header or None)


def _texts(passages: list[Passage]) -> Iterator[str]:
    for passage in passages:
        if passage.table is None:
            yield passage.text
        else:
            for row in (*passage.table.header, *passage.table.rows):
                yield " ".join(row)
