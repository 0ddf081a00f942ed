"""Presentations (PPTX), by python-pptx: each slide, with its notes, is a page and a section."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import PP_PLACEHOLDER as KINDS
from pptx.slide import Slide

from agent.documents.cover import stated_title
from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.formats.opendocument import slide_blocks
from agent.documents.prose import normal
from agent.documents.tables import Cell, build_table

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def read_slides(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a presentation."""
    deck = pptx.Presentation(BytesIO(data))
    slides = list(deck.slides)
    blocks = [block for number, slide in enumerate(slides, start=1) for block in _slide(slide, number)]
    properties = deck.core_properties
    return ParsedDocument(
        tuple(blocks),
        "\n".join(chain.from_iterable(map(_visible_lines, slides))),
        title=stated_title(normal(properties.title or ""), blocks, path),
        pages=len(slides),
        author=properties.author or "",
    )


def _slide(slide: Slide, number: int) -> Iterator[Block]:
    title = slide.shapes.title
    heading = "" if title is None else title.text_frame.text
    return slide_blocks(number, heading, _content(slide, title), _notes(slide))


def _content(slide: Slide, title: Any) -> Iterator[Block]:
    shapes = [shape for shape in _shapes(slide.shapes) if title is None or shape.shape_id != title.shape_id]
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                if text := normal(paragraph.text):
                    yield Block("text", text)
        elif (table := _table(shape)) is not None:
            yield Block("table", table=table)


def _notes(slide: Slide) -> Iterator[str]:
    """The text of the notes; some programs do not mark the shape that contains it."""
    page_furniture = {KINDS.SLIDE_NUMBER, KINDS.DATE, KINDS.HEADER, KINDS.FOOTER}
    shapes: Any = slide.notes_slide.shapes if slide.has_notes_slide else ()
    for shape in shapes:
        kind = shape.placeholder_format.type if shape.is_placeholder else None
        if shape.has_text_frame and kind not in page_furniture:
            yield shape.text_frame.text


def _shapes(shapes: Any) -> Iterator[Any]:
    """The shapes, including those in groups."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _table(shape: Any) -> Table | None:
    if getattr(shape, "has_chart", False):
        return _chart(shape.chart)
    if not getattr(shape, "has_table", False):
        return None
    table = shape.table
    rows = [
        [
            Cell(normal(cell.text), column, column + cell.span_width)
            for column, cell in enumerate(row.cells)
            if not cell.is_spanned
        ]
        for row in table.rows
    ]
    return build_table(rows, exact=True, header_rows=1 if table.first_row else None)


def _chart(chart: Any) -> Table | None:
    title = normal(chart.chart_title.text_frame.text) if chart.has_title else ""
    all_series = [series for plot in chart.plots for series in plot.series]
    names = [str(name) for name in chart.plots[0].categories] if all_series else []
    rows = tuple(
        (
            name,
            *(
                f"{series.values[number]:.15g}" if number < len(series.values) else ""
                for series in all_series
            ),
        )
        for number, name in enumerate(names)
    )
    header = ("", *(normal(series.name) for series in all_series))
    return Table((header,), rows, title) if rows else None


def _visible_lines(slide: Slide) -> Iterator[str]:
    parts = [slide.element, *([slide.notes_slide.element] if slide.has_notes_slide else [])]
    for paragraph in chain.from_iterable(part.iter(f"{_A}p") for part in parts):
        if not any(field.get("type") == "slidenum" for field in paragraph.iter(f"{_A}fld")):
            yield "".join(run.text or "" for run in paragraph.iter(f"{_A}t"))
