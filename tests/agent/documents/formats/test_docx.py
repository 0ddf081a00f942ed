"""Word documents: order, headings by style, tables, and text that python-docx passes over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import docx
import pytest
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from agent.documents.chunking import chunk, coverage
from tests.agent.documents.formats.parsed import parse, shape, tables
from tests.agent.documents.formats.samples import saved


def fill(table: Any, rows: Sequence[Sequence[str]]) -> None:
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text


def test_headings_lists_and_tables_in_order() -> None:
    document = docx.Document()
    document.core_properties.title = "Quarterly Review"
    document.add_heading("Overview", level=1)
    document.add_paragraph("First paragraph.")
    table = document.add_table(rows=3, cols=3)
    fill(table, [("", "2023", "2022"), ("Sales", "1,200", "1,100"), ("Cost", "(3)", "—")])
    document.add_heading("Detail", level=2)
    document.add_paragraph("an item", style="List Bullet")
    document.add_paragraph("Last paragraph.")
    parsed = parse("a.docx", saved(document))
    assert (parsed.title, parsed.author) == ("Quarterly Review", ""), "python-docx is nobody"
    document.core_properties.author = "Anna Berg"
    assert parse("a.docx", saved(document)).author == "Anna Berg"
    assert shape(parsed) == [
        ("heading", 1, "Overview"),
        ("text", 0, "First paragraph."),
        ("table", 0, ""),
        ("heading", 2, "Detail"),
        ("text", 0, "• an item"),
        ("text", 0, "Last paragraph."),
    ]
    (found,) = tables(parsed)
    assert found.header == (("", "2023", "2022"),)
    assert found.rows == (("Sales", "1,200", "1,100"), ("Cost", "(3)", "—"))
    assert coverage(parsed, chunk(parsed)) == 1.0


def test_merged_cells_a_bold_header_and_a_row_that_begins_further_right() -> None:
    document = docx.Document()
    table = document.add_table(rows=4, cols=3)
    table.cell(0, 1).merge(table.cell(0, 2)).text = "Region"
    for column, text in enumerate(("Name", "East", "West")):
        table.cell(1, column).paragraphs[0].add_run(text).bold = True
    table.cell(2, 0).merge(table.cell(3, 0)).text = "Anna"
    for row, figures in ((2, ("7", "9")), (3, ("8", "3"))):
        for column, text in enumerate(figures, start=1):
            table.cell(row, column).text = text
    document.add_paragraph("Sales were as follows.")
    shifted = document.add_table(rows=3, cols=3)
    fill(shifted, [("", "2023", "2022"), ("Sales", "12", "11"), ("", "100 %", "90 %")])
    last: Any = shifted.rows[2]._tr
    last.remove(last.tc_lst[0])
    last.get_or_add_trPr().append(parse_xml(f"<w:gridBefore {nsdecls('w')} w:val='1'/>"))
    found, sales = tables(parse("a.docx", saved(document)))
    assert sales.rows == (("Sales", "12", "11"), ("", "100 %", "90 %"))
    assert found.header == (("Name", "Region East", "Region West"),)
    assert found.rows == (("Anna", "7", "9"), ("Anna", "8", "3"))


def test_headings_by_look_where_no_style_says_so() -> None:
    document = docx.Document()
    for title in ("Background", "Findings"):
        document.add_paragraph().add_run(title).bold = True
        document.add_paragraph("Some words of text follow the heading. " * 5)
    kinds = [(kind, text) for kind, _, text in shape(parse("a.docx", saved(document)))]
    assert kinds[0] == ("heading", "Background")
    assert kinds[2] == ("heading", "Findings")


def test_text_in_content_controls_and_revisions_and_footnotes_at_the_end() -> None:
    document = docx.Document()
    document.add_paragraph("Before.")
    body: Any = document.element.body
    space = nsdecls("w")
    run = "<w:r><w:t>{}</w:t></w:r>".format
    paragraphs = (
        f"<w:sdt {space}><w:sdtContent><w:p>{run('Controlled.')}</w:p></w:sdtContent></w:sdt>",
        f"<w:p {space}>{run('Kept')}<w:ins w:id='1'>{run(' and new.')}</w:ins>"
        "<w:del w:id='2'><w:r><w:delText>GONE</w:delText></w:r></w:del></w:p>",
        f"<w:p {space}>{run('From:')}<w:moveFrom w:id='3'>{run(' moved')}</w:moveFrom></w:p>",
        f"<w:p {space}>{run('To:')}<w:moveTo w:id='4'>{run(' moved')}</w:moveTo></w:p>",
    )
    for index, paragraph in enumerate(paragraphs, start=1):
        body.insert(index, parse_xml(paragraph))
    note = f"<w:footnote w:id='1'><w:p>{run('A note.')}</w:p></w:footnote>"
    notes = f"<w:footnotes {space}>{note}</w:footnotes>".encode()
    package = document.part.package
    part = Part(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, notes, package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    parsed = parse("a.docx", saved(document))
    texts = [text for _, _, text in shape(parsed)]
    assert texts == ["Before.", "Controlled.", "Kept and new.", "From:", "To: moved", "A note."]
    assert parsed.visible_text == "\n".join(texts)
    assert coverage(parsed, chunk(parsed)) == 1.0


def test_a_table_in_a_cell_leaves_the_table_around_it_whole() -> None:
    document = docx.Document()
    outer = document.add_table(rows=3, cols=3)
    fill(outer, [("Plant", "2023", "2022"), ("Oslo", "7", ""), ("Bergen", "4", "3")])
    inner = outer.cell(1, 2).add_table(rows=3, cols=2)
    fill(inner, [("Half", "Sum"), ("First", "2"), ("Second", "3")])
    list_in_cell = outer.cell(2, 0).add_table(rows=1, cols=1)
    list_in_cell.cell(0, 0).text = "(leased)"
    parsed = parse("a.docx", saved(document))
    around, within = tables(parsed)
    assert around.header == (("Plant", "2023", "2022"),)
    assert around.rows == (("Oslo", "7", ""), ("Bergen (leased)", "4", "3"))
    assert within.caption == "Oslo"
    assert within.rows == (("First", "2"), ("Second", "3"))
    assert coverage(parsed, chunk(parsed)) == 1.0


@pytest.mark.parametrize("laid_out", [False, True])
def test_rows_in_content_controls(laid_out: bool) -> None:
    """Whether the table is read as one or, since its cells hold tables, cell by cell."""
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    fill(table, [("Year", "Sum"), ("2023", "5")])
    for cell in table._cells if laid_out else ():
        cell.add_table(rows=2, cols=2).cell(1, 1).text = f"in {cell.text}"
    element: Any = table._tbl
    last = table.rows[1]._tr
    control = parse_xml(f"<w:sdt {nsdecls('w')}><w:sdtContent/></w:sdt>")
    element.replace(last, control)
    control[0].append(last)
    parsed = parse("a.docx", saved(document))
    assert {kind for kind, _, _ in shape(parsed)} == {"text" if laid_out else "table"}
    assert coverage(parsed, chunk(parsed)) == 1.0
