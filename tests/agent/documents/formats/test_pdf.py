"""PDF: lines, paragraphs, headings, tables, running headers; three real filings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agent.documents.chunking import chunk, coverage
from agent.documents.document import ParsedDocument
from tests.agent.documents.formats.parsed import doubled_sentences, filing, headings, parse, shape, tables
from tests.agent.documents.formats.samples import Drawn, drawn_pdf, mapped_pdf

BOLD = "Helvetica-Bold"
LINE = "A line of ordinary text that is as long as the page is wide, more or less"
FILINGS = ("BOEING_2022_10K.pdf", "AMCOR_2023_10K.pdf", "ULTABEAUTY_2023Q4_EARNINGS.pdf")


def page_text(document: ParsedDocument, page: int) -> str:
    lines = []
    for block in document.blocks:
        if block.page == page:
            lines.append(block.text)
            if block.table:
                lines += [" ".join(row) for row in (*block.table.header, *block.table.rows)]
    return "\n".join(lines)


def test_paragraphs_headings_and_pages() -> None:
    first = [
        Drawn(760, {72: "The Heading"}, 14, BOLD),
        *(Drawn(740, {72: f"{LINE},"}), Drawn(728, {72: "and its second line."})),
        *(Drawn(704, {72: f"{LINE},"}), Drawn(692, {72: "another paragraph, of"})),
    ]
    second = [
        Drawn(760, {72: "words that go on over the page."}),
        Drawn(736, {72: "A Smaller Heading"}, 10, BOLD),
        Drawn(720, {72: f"{LINE}."}),
        *(Drawn(700, {72: "•", 90: "an item"}), Drawn(688, {72: "•", 90: "another"})),
    ]
    document = parse("my_report.pdf", drawn_pdf(first, second))
    assert document.pages == 2
    assert (document.title, document.author) == ("The Heading", "")  # of the file, both are "anonymous"
    assert [(b.kind, b.level, b.page, b.text) for b in document.blocks] == [
        ("heading", 1, 1, "The Heading"),
        ("text", 0, 1, f"{LINE}, and its second line."),
        ("text", 0, 1, f"{LINE}, another paragraph, of words that go on over the page."),
        ("heading", 2, 2, "A Smaller Heading"),
        ("text", 0, 2, f"{LINE}."),
        ("text", 0, 2, "• an item"),
        ("text", 0, 2, "• another"),
    ]


def test_table() -> None:
    """Signs apart from their numbers, a period over its columns, a section row, a broken label."""
    rows = [
        Drawn(740, {72: "Results were as follows:"}),
        Drawn(716, {300: "Years ended June 30,"}, 9, BOLD),
        *(Drawn(704, {72: "($ in millions)"}, 9), Drawn(704, {300: "2023", 380: "2022"}, 9, BOLD)),
        Drawn(692, {72: "Revenue:"}, 9),
        Drawn(680, {72: "Products", 280: "$", 305: "1,250", 360: "$", 385: "980"}, 9),
        Drawn(668, {72: "Services, net of returns and"}, 9),
        Drawn(656, {72: "allowances", 305: "(25)", 385: "—"}, 9),
        Drawn(630, {72: "See the notes below the statements for all of the details that matter."}),
    ]
    document = parse("a.pdf", drawn_pdf(rows))
    (table,) = tables(document)
    assert table.header == (("($ in millions)", "Years ended June 30, 2023", "Years ended June 30, 2022"),)
    assert table.rows == (
        ("Revenue:", "", ""),
        ("Products", "$1,250", "$980"),
        ("Services, net of returns and allowances", "(25)", "—"),
    )
    assert [kind for kind, _, _ in shape(document)] == ["text", "table", "text"]


def test_two_columns_are_read_one_after_the_other() -> None:
    columns = [
        Drawn(740 - 12 * n, {x: f"{side} column line number {n} has words"})
        for x, side in ((50, "left"), (320, "right"))
        for n in range(12)
    ]
    document = parse("a.pdf", drawn_pdf(columns))
    text = "\n".join(text for _, _, text in shape(document))
    assert text.index("left column line number 11") < text.index("right column line number 0")
    assert not tables(document)


@pytest.mark.parametrize(
    ("units", "read"),
    [
        ("D835DC65", "𝑥"),
        ("D835DC65D83DDE00", "𝑥😀"),
        ("D835", "\ufffd"),
        ("DC65", "\ufffd"),
        ("DC65D835", "\ufffd\ufffd"),
        ("D835D835DC65", "\ufffd𝑥"),
        ("D835DC65DC65", "𝑥\ufffd"),
    ],
)
def test_characters_beyond_the_first_plane_come_whole(units: str, read: str) -> None:
    """PDFium gives UTF-16; half a character could be neither embedded nor stored."""
    document = parse("a.pdf", mapped_pdf("Let A be a root.", "A", units))
    assert [text for _, _, text in shape(document)] == [f"Let {read} be a root."]


@pytest.mark.parametrize("name", FILINGS)
def test_evidence_is_on_its_page(data: Path, name: str) -> None:
    """Nearly all the words of the gold passages are on the pages FinanceBench names."""
    document = filing(data, name)
    chunks = chunk(document)
    assert coverage(document, chunks) >= 0.98
    assert doubled_sentences(document, chunks) == []
    for line in (data / "filings" / "financebench_15.jsonl").read_text().splitlines():
        question = json.loads(line)
        if question["doc"] == name:
            text = " ".join(page_text(document, page + 1) for page in question["evidence_pages"])
            found = set(re.findall(r"\w+", text))
            wanted = set(re.findall(r"\w+", " ".join(question["evidence_text"])))
            assert len(wanted & found) > 0.85 * len(wanted), question["id"]


@pytest.mark.parametrize(
    ("name", "page", "line"),
    [
        ("BOEING", 55, "Total revenues | 66,608 | 62,286 | 58,158"),
        ("BOEING", 55, " | 3,502 | 3,017 | (5,685)"),
        ("BOEING", 62, "(Dollars in millions) Years ended December 31, | 2022 | 2021 | 2020"),
        ("BOEING", 62, "Commercial Airplanes | $25,867 | $19,493 | $16,162"),
        ("AMCOR", 52, "($ in millions, except share and per share data) As of June 30, | 2023 | 2022"),
        ("AMCOR", 52, "Total current assets | 5,308 | 5,853"),
        ("AMCOR", 52, "Cash and cash equivalents | $689 | $775"),
        (
            "AMCOR",
            88,
            "($ in millions) | Years ended June 30, 2023 | Years ended June 30, 2022 | "
            "Years ended June 30, 2021",
        ),
        ("ULTABEAUTY", 6, "Net sales | $3,226,773 | 100.0% | $2,729,388 | 100.0%"),
        ("ULTABEAUTY", 9, " | 13 Weeks Ended January 28, 2023 | 13 Weeks Ended January 29, 2022"),
    ],
)
def test_headers_and_rows_of_the_filings(data: Path, name: str, page: int, line: str) -> None:
    (file,) = (file for file in FILINGS if file.startswith(name))
    lines = {
        " | ".join(cells)
        for block in filing(data, file).blocks
        if block.table and block.page == page
        for cells in (*block.table.header, *block.table.rows)
    }
    assert line in lines


@pytest.mark.parametrize("name", FILINGS[:2])
def test_items_of_the_filings(data: Path, name: str) -> None:
    found = [
        match[1]
        for heading in headings(filing(data, name))
        if heading.level == 2 and (match := re.match(r"Item (\d+[A-C]?)\.", heading.text))
    ]
    missing = set("1 1A 1B 2 3 4 5 7 7A 8 9 9A 9B 9C 10 11 12 13 14 15 16".split()) - set(found)
    assert not missing
    assert len(found) == len(set(found))
    assert found == sorted(found, key=lambda item: (int(re.sub(r"\D", "", item)), item))


def test_titles_dates_and_what_repeats_in_a_few_places(data: Path) -> None:
    """The name of the report stands on top of most pages, the place of a signature at the foot of two."""
    read = [filing(data, name) for name in FILINGS]
    assert [(document.title, document.date, document.pages) for document in read] == [
        ("THE BOEING COMPANY, FORM 10-K, December 31, 2022", "2022-12-31", 190),
        ("AMCOR PLC, FORM 10-K, June 30, 2023", "2023-06-30", 156),
        ("Ulta Beauty Announces Fourth Quarter Fiscal 2022 Results", "2023-03-09", 9),
    ]
    lines = [(block.page, block.text) for block in read[0].blocks]
    assert [page for page, text in lines if text == "Chicago, Illinois"] == [125, 186]
    assert sum(text == "Table of Contents" for _, text in lines) <= 1
