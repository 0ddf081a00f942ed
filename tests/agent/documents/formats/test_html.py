"""Web pages and filings: passages, headings by tag or by look, what is hidden, tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.documents.chunking import chunk, coverage
from agent.documents.document import Table
from tests.agent.documents.formats.parsed import doubled_sentences, filing, headings, parse, shape, tables

NVIDIA = "nvda-10k-fy2023.html"
BOLD = "font-weight:700"


def page(body: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"


def bold(text: str) -> str:
    return f"<div style='{BOLD}'>{text}</div>"


def table_of(rows: str) -> Table:
    (table,) = tables(parse("a.html", page(f"<p>Text.</p><table>{rows}</table>")))
    return table


def test_blocks_and_headings() -> None:
    document = parse(
        "a.html",
        page(
            "<h1 id='t'>Title<a href='#t'>¶</a></h1>bare text<p>One <b>bold</b><br>line.</p>"
            "<h2><a href='p.html'>🔗</a>Part</h2><dl id='f'><dt>f()<a href='#f'>#</a></dl>"
            "<ul><li>a<li><p>b</p><ol><li>c</ol></ul><pre>x\n  y</pre>",
            "<title>A page</title><meta name='date' content='2024-05-06'>",
        ),
    )
    assert document.title == "A page"
    assert document.date == "2024-05-06"
    assert document.media_type == "text/html"
    assert document.pages is None
    assert shape(document) == [
        ("heading", 1, "Title"),
        ("text", 0, "bare text"),
        ("text", 0, "One bold line."),
        ("heading", 2, "Part"),
        ("text", 0, "f()"),
        ("text", 0, "• a"),
        ("text", 0, "• b"),
        ("text", 0, "• c"),
        ("text", 0, "x\n  y"),
    ]


def test_menus_are_no_text() -> None:
    menus = (
        "<header>Site<nav><ul><li>Home<li>Parts</ul></nav></header><div role='navigation'>Next page</div>"
        "<div role='search'>Search here</div><search>Find it</search>"
    )
    document = parse("a.html", page(f"{menus}<main><p>The text.</p></main><footer>Imprint</footer>"))
    assert [text for _, _, text in shape(document)] == ["Site", "The text.", "Imprint"]


def test_what_is_hidden_is_neither_text_nor_visible() -> None:
    document = parse(
        "a.html",
        page(
            '<div style="display: none"><ix:header><ix:hidden>SECRET</ix:hidden></ix:header></div>'
            "<script>SECRET</script><style>SECRET</style><noscript>SECRET</noscript>"
            '<p hidden>SECRET</p><p>Seen <span style="visibility:hidden">SECRET</span>too.</p>'
            "after<!-- SECRET -->"
            "<table><tr><td>a</td><td style='display:none'>SECRET</td><td>1</td></tr>"
            "<tr style='display:none'><td>SECRET</td></tr><tr><td>b</td><td>2</td></tr></table>",
            "<title>T</title>",
        ),
    )
    assert "SECRET" not in document.visible_text
    assert "SECRET" not in str(document.blocks)
    assert "Seen too." in document.visible_text
    assert "after" in document.visible_text


_WORDS = f"<div>{'Words of text. ' * 30}</div>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            f"""<div style="font-size:10pt">
            <div style="font-size:14pt;{BOLD}">Large</div>{_WORDS * 2}
            <div><span style="{BOLD}">Medium</span></div>{_WORDS * 2}
            <div style="font-style:italic">Small</div>{_WORDS * 2}
            <div>With <b>one</b> bold word.</div>
            <div style="{BOLD}">Another medium</div>{_WORDS * 2}</div>""",
            [(1, "Large"), (2, "Medium"), (3, "Small"), (2, "Another medium")],
            id="larger above smaller, bold above italic",
        ),
        pytest.param(
            bold("Segments")
            + "".join(
                f"{bold(first)}{bold('Overview')}{_WORDS}{bold('Results')}{_WORDS}"
                for first in ("Airplanes", "Services")
            ),
            [
                *[(1, "Segments"), (2, "Airplanes"), (3, "Overview"), (3, "Results")],
                *[(2, "Services"), (3, "Overview"), (3, "Results")],
            ],
            id="alike in a row one above the other",
        ),
        pytest.param(
            f"<div style='{BOLD};font-size:18pt'>ORLAVANE, INC.</div>{_WORDS}"
            f"{bold('ORLAVANE, INC.')}{bold('BALANCE SHEET')}{_WORDS}{bold('THE NOTES')}{_WORDS}",
            [(1, "ORLAVANE, INC."), (2, "BALANCE SHEET"), (2, "THE NOTES")],
            id="a name from the cover is no section over what follows",
        ),
        pytest.param(
            f"<h1>Rates</h1>{_WORDS}{bold('Last year')}{_WORDS}{bold('This year')}{_WORDS}",
            [(1, "Rates"), (2, "Last year"), (2, "This year")],
            id="below the one heading of its own",
        ),
        pytest.param(
            f"<div>{_WORDS}{bold('Sales of $3 Billion')}{bold('Profit Rose 15%')}{bold('Outlook Raised')}"
            f"{_WORDS}{bold('Later')}{_WORDS}</div>",
            [(1, "Outlook Raised"), (1, "Later")],
            id="headlines in a row are text",
        ),
        pytest.param(
            f"<h1>Use</h1>{_WORDS}<pre><b>    loop {{</b></pre>{_WORDS}", [(1, "Use")], id="code is none"
        ),
    ],
)
def test_headings_by_look(body: str, expected: list[tuple[int, str]]) -> None:
    found = headings(parse("a.html", page(body)))
    assert [(heading.level, heading.text) for heading in found] == expected


def test_the_section_is_where_the_text_is() -> None:
    """Items in the table of contents and in cross-references head nothing."""
    words = f"<p>{'Many words here. ' * 30}</p>"
    names = {"1": "Business", "1A": "Risks", "2": "Properties"}
    contents = "".join(f"<p style='{BOLD}'>Item {n}. {name}</p>" for n, name in names.items())
    body = f"""<p style='{BOLD}'>PART I</p>{contents}
        <p style='{BOLD}'>PART I</p><p style='{BOLD}'>Item 1. Business</p>{words}
        <p>Item 1A. describes the risks that we know of and that may matter to you.</p>{words}
        <table><tr><td><b>Item 1A.</b></td><td><b>Risks</b></td></tr></table>{words}
        <p style='{BOLD}'>Item 2. Properties</p>"""
    document = parse("a.html", page(body))
    found = headings(document)
    assert [(heading.level, heading.text) for heading in found] == [
        (1, "PART I"),
        (2, "Item 1. Business"),
        (2, "Item 1A. Risks"),
        (2, "Item 2. Properties"),
    ]
    assert document.blocks.index(found[1]) > 3


def test_print_marks_tell_furniture_and_broken_paragraphs() -> None:
    end = "<hr style='page-break-after:always'>"
    pages = [
        f"<p>Company Report</p><p>Page text {name} {'goes on ' * 12}and</p><p>{number}</p>{end}"
        f"<p>Company Report</p><p>ends here {name}.</p><p>{number + 1}</p>{end}"
        for number, name in ((1, "one"), (3, "two"), (5, "three"))
    ]
    texts = [text for _, _, text in shape(parse("a.html", page("".join(pages))))]
    assert texts.count("Company Report") == 1
    assert len(texts) == 4
    assert texts[1].endswith("and ends here one.")


def test_signs_spans_and_spacers() -> None:
    """What EDGAR's tables are made of."""
    table = table_of("""
        <tr><td></td><td colspan=7>Year Ended</td></tr>
        <tr><td></td><td colspan=3>Jan 29,<br>2023</td><td></td><td colspan=3>Jan 30,<br>2022</td></tr>
        <tr><td></td><td colspan=7>($ in millions)</td></tr>
        <tr><td>Revenue:</td><td colspan=7></td></tr>
        <tr><td>Compute</td><td>$</td><td>15,068</td><td></td><td></td><td>$</td><td>11,046</td><td></td></tr>
        <tr><td>Loss</td><td colspan=2>(25</td><td>)</td><td></td><td colspan=2>3</td><td>%</td></tr>
        <tr><td>None</td><td colspan=2>—</td><td></td><td></td><td colspan=2>7</td><td></td></tr>""")
    assert table.header == (("($ in millions)", "Year Ended Jan 29, 2023", "Year Ended Jan 30, 2022"),)
    assert table.rows == (
        ("Revenue:", "", ""),
        ("Compute", "$15,068", "$11,046"),
        ("Loss", "(25)", "3%"),
        ("None", "—", "7"),
    )


@pytest.mark.parametrize(
    "rows",
    [
        (("Item", "Currency", "Amount"), ("Rent", "€", "1,200"), ("Power", "$", "80")),
        (("Item", "Unit", "2023"), ("Rent", "$", "80"), ("Growth", "%", "5")),
        (("Item", "2023", "Unit"), ("Growth", "5", "%"), ("Rent", "80", "$")),
    ],
)
@pytest.mark.parametrize("tag", ["td", "th"])
def test_signs_in_a_column_with_a_name_stay_in_it(rows: tuple[tuple[str, ...], ...], tag: str) -> None:
    names, *values = rows
    lines = ["".join(f"<{tag}>{name}</{tag}>" for name in names)]
    lines += ["".join(f"<td>{cell}</td>" for cell in row) for row in values]
    table = table_of(f"<tr>{'<tr>'.join(lines)}")
    assert (*table.header, *table.rows) == rows


def test_signs_are_joined_beneath_one_name_and_a_note() -> None:
    table = table_of("""
        <tr><td></td><td colspan=2>Amount</td><td>(a)</td></tr>
        <tr><td>Profit</td><td>$</td><td>5</td><td></td></tr>
        <tr><td>Margin</td><td></td><td>3</td><td>%</td></tr>
        <tr><td>Loss</td><td></td><td>(7</td><td>)</td></tr>""")
    assert [row[1] for row in table.rows] == ["$5", "3%", "(7)"]


def test_header_cells_rowspan_and_caption() -> None:
    table = table_of("""<caption>Staff</caption>
        <thead><tr><th rowspan=2>Site</th><th colspan=2>People</th></tr>
        <tr><th>2023</th><th>2022</th></tr></thead>
        <tr><td rowspan=2>North</td><td>12</td><td>10</td></tr><tr><td>5</td><td>4</td></tr>""")
    assert table.caption == "Staff"
    assert table.header == (("Site", "People 2023", "People 2022"),)
    assert table.rows == (("North", "12", "10"), ("North", "5", "4"))


@pytest.mark.parametrize(
    "rows",
    [
        "<tr><td>North</td><td>12</td></tr>",
        "<tr><td>North</td></tr><tr><td>South</td></tr>",
        "<tr><td>1.</td><td>North</td></tr><tr><td>2.</td><td>South</td></tr>",
    ],
)
def test_the_caption_of_what_is_no_table_stands_above_it(rows: str) -> None:
    document = parse("a.html", f"<table><caption>Our <b>sites</b></caption>{rows}</table>")
    assert document.blocks[0].text == "Our sites"
    assert tables(document) == []


def test_tables_that_only_lay_out() -> None:
    """Bullets, one row, one column, a page in cells: none is a table."""
    prose = "<p>Long paragraph of text that goes on for a while, as they do in pages.</p>" * 12
    document = parse(
        "a.html",
        page(
            "<table><tr><td>•</td><td>first point</td></tr><tr><td>•</td><td>second point</td></tr></table>"
            "<table><tr><td>alone</td></tr><tr><td>in a column</td></tr></table>"
            "<table><tr><td>Item 1.</td><td>Business</td></tr></table>"
            f"<table><tr><td>{prose}</td><td>Side</td></tr><tr><td>x</td><td>y</td></tr></table>"
            "<table><tr><td>outer<table><tr><td>k</td><td>1</td></tr><tr><td>l</td><td>2</td></tr></table></td></tr></table>"
        ),
    )
    texts = [text for kind, _, text in shape(document) if kind == "text"]
    assert texts[:5] == ["• first point", "• second point", "alone", "in a column", "Item 1. Business"]
    assert "Side" in texts
    assert [table.rows for table in tables(document)] == [(("k", "1"), ("l", "2"))]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<html><p>naïve 文</p></html>".encode(), "naïve 文"),
        ("<html><p>naïve 文</p></html>".encode("utf-16"), "naïve 文"),
        ("<html><meta charset='gb18030'><p>中文的内容</p></html>".encode("gb18030"), "中文的内容"),
        ('<?xml version="1.0" encoding="utf-8"?><html><p>é</p></html>'.encode(), "é"),
        ("<html><meta charset='us-ascii'><p>“naïve” 5 €</p></html>".encode("cp1252"), "“naïve” 5 €"),
        ("<html><meta charset='no-such'><p>caf\xe9 cr\xe8me</p></html>".encode("latin-1"), "café crème"),
    ],
)
def test_encodings(content: bytes, expected: str) -> None:
    assert expected in parse("a.html", content).visible_text


def test_deeply_nested_page_is_read_whole() -> None:
    depth = 1500
    document = parse("a.html", page("<div>" * depth + "bottom" + "</div>" * depth + "<p>after</p>"))
    assert [text for _, _, text in shape(document)] == ["bottom", "after"]


def test_title_and_headings_of_a_filing(data: Path) -> None:
    document = filing(data, NVIDIA)
    assert document.title == "NVIDIA CORPORATION, FORM 10-K, January 29, 2023"
    assert document.date == "2023-01-29"
    assert "0001045810" not in document.visible_text
    found = [
        (heading.level, match[1])
        for heading in headings(document)
        if (match := re.match(r"ITEM (\w+)\.", heading.text))
    ]
    assert found == [
        (2, item) for item in "1 1A 1B 2 3 4 5 6 7 7A 8 9 9A 9B 9C 10 11 12 13 14 15 16".split()
    ]
    parts = [heading.text for heading in headings(document) if heading.level == 1]
    assert parts == ["PART I", "PART II", "PART III", "PART IV"]


def test_nothing_of_a_filing_is_lost_and_numbers_stand_with_row_and_column(data: Path) -> None:
    document = filing(data, NVIDIA)
    chunks = chunk(document)
    assert coverage(document, chunks) >= 0.98
    assert doubled_sentences(document, chunks) == []
    dated = [made.text for made in chunks if "January 29, 2023" in made.text]
    assert any("\nTotal | $26,974" in text for text in dated)
    found = tables(document)
    assert len(found) > 50
    segments = next(table for table in found if "15,068" in str(table.rows))
    assert segments.header[0][:3] == (
        "($ in millions)",
        "Year Ended January 29, 2023",
        "Year Ended January 30, 2022",
    )
    assert segments.rows[0] == ("Compute & Networking", "$15,068", "$11,046", "$4,022", "36%")
    assert segments.rows[1] == ("Graphics", "11,906", "15,868", "(3,962)", "(25)%")
    assert all(len({len(row) for row in (*table.header, *table.rows)}) == 1 for table in found)


@pytest.mark.parametrize(
    "unsound", ["\x0c", "\x1b", "\ufffe", "&#8;", "&#08", "&#31;", "&#x1F;", "&#xfffe;", "&#65535;"]
)
@pytest.mark.parametrize("name", ["a.html", "a.md"])
def test_a_character_that_xml_has_no_place_for_is_a_space(name: str, unsound: str) -> None:
    body = f"<div>one{unsound} two<br>{unsound}three</div>"
    document = parse(name, body)
    assert shape(document) == [("text", 0, "one two three")]
    assert document.visible_text == "one two\nthree"


@pytest.mark.parametrize(
    "part",
    ["<tr><td>a</td><td>b</td></tr>", "<center>a b</center>", "<pre>a b</pre>", "<b>a</b> b", "a <font>b"],
)
def test_a_part_of_a_page_is_html(part: str) -> None:
    document = parse("a.html", part)
    assert document.media_type == "text/html"
    assert document.visible_text.split() == ["a", "b"]
