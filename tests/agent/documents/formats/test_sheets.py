"""Spreadsheets: sheets as sections, regions as tables, values as they were stored."""

from __future__ import annotations

import zipfile
from datetime import date
from io import BytesIO

import xlsxwriter

from agent.documents.chunking import chunk, coverage
from tests.agent.documents.formats.parsed import headings, parse, shape, tables
from tests.agent.documents.formats.samples import workbook


def test_each_sheet_is_a_section_and_each_region_a_table() -> None:
    rent: list[list[object]] = [
        ["Rent of the flats"],
        [],
        ["Flat", "Since", "Rent", "", "Key", "Holder"],
        ["12 A", date(2024, 3, 1), 812.5, "", "K1", "Holm"],
        ["12 B", date(2023, 7, 1), 790, "", "K2", "Ota"],
        [],
        ["12 C", date(2022, 1, 1), 0.1 + 0.2],
    ]
    contacts: list[list[object]] = [["Name", "Town"], ["Ada", "Ulm"]]
    document = parse("a.xlsx", workbook(Rent=rent, Empty=[[]], Contacts=contacts))
    assert [block.text for block in headings(document)] == ["Rent", "Contacts"]
    assert ("text", 0, "Rent of the flats") in shape(document)
    flats, keys, people = tables(document)
    assert flats.header == (("Flat", "Since", "Rent"),)
    assert flats.rows == (
        ("12 A", "2024-03-01", "812.5"),
        ("12 B", "2023-07-01", "790"),
        ("12 C", "2022-01-01", "0.3"),
    )
    assert keys.rows == (("K1", "Holm"), ("K2", "Ota"))
    assert people.header == (("Name", "Town"),)


def test_merged_cells_name_all_that_they_cover_and_formulas_give_their_values() -> None:
    out = BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet = book.add_worksheet()
        sheet.merge_range("A1:E1", "Sales")
        sheet.merge_range("B2:C2", "North")
        sheet.merge_range("D2:E2", "South")
        sheet.write_row("A3", ["Item", "May", "June", "May", "June"])
        sheet.merge_range("A4:A5", "Pears")
        sheet.write_row("B4", [1, 2, 3, 4])
        sheet.write_row("B5", [5, 6, 7])
        sheet.write_formula("E5", "=SUM(B5:D5)", None, 18)
    document = parse("a.xlsx", out.getvalue())
    (table,) = tables(document)
    assert table.header == (("Item", "North May", "North June", "South May", "South June"),)
    assert [row[0] for row in table.rows] == ["Pears", "Pears"]
    assert table.rows[-1][-1] == "18", "what a formula gave is read"
    assert not document.notices
    uncalculated = BytesIO()
    with zipfile.ZipFile(out) as read, zipfile.ZipFile(uncalculated, "w") as written:
        for name in read.namelist():
            written.writestr(name, read.read(name).replace(b"<v>18</v>", b"<v></v>"))
    (notice,) = parse("a.xlsx", uncalculated.getvalue()).notices
    assert notice.startswith("1 formula has no stored value")


def test_a_long_sheet_is_cut_beneath_its_header() -> None:
    rows: list[list[object]] = [["Entry", "Sum"], *([f"E{number:05}", number] for number in range(600))]
    document = parse("a.xlsx", workbook(Ledger=rows))
    passages = chunk(document)
    assert coverage(document, passages) == 1
    (holding,) = [piece for piece in passages if "E00518" in piece.text]
    assert holding.text.startswith("Entry | Sum")
