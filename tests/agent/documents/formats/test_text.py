"""Plain text and CSV: what is a heading, an item, a table; encodings and separators."""

from __future__ import annotations

import pytest

from tests.agent.documents.formats.parsed import headings, parse, shape, tables

GERMAN = "Der Käufer zahlt für die Übergabe der Schlüssel eine Gebühr."
PAGE = """ANNUAL REPORT

March 9, 2023

1. Introduction

This paragraph has been wrapped by hand
at some column so that it reads well in
a terminal window of the old kind.

- item one
  and its second line
- item two

1.1 Details

Name           2023      2022
-------------------------------
Revenue       1,000       900
Cost           (500)     (450)

Section Two
===========
Text right under it.
"""


def test_text() -> None:
    document = parse("a.txt", PAGE)
    assert document.title == "ANNUAL REPORT"
    assert document.date == "2023-03-09"
    assert shape(document) == [
        ("heading", 2, "ANNUAL REPORT"),
        ("text", 0, "March 9, 2023"),
        ("heading", 2, "1. Introduction"),
        (
            "text",
            0,
            "This paragraph has been wrapped by hand at some column so that it reads well in a terminal "
            "window of the old kind.",
        ),
        ("text", 0, "- item one and its second line"),
        ("text", 0, "- item two"),
        ("heading", 3, "1.1 Details"),
        ("table", 0, ""),
        ("heading", 1, "Section Two"),
        ("text", 0, "Text right under it."),
    ]
    (table,) = tables(document)
    assert table.header == (("Name", "2023", "2022"),)
    assert table.rows == (("Revenue", "1,000", "900"), ("Cost", "(500)", "(450)"))


WRAPPED = (
    "Hannelore gives the waiting list to Ravi because of her new job. From May on\nRavi looks after it."
)
POEM = "Roses are red,\nViolets are blue,\nLines such as these\nStay as they do."
PROSE = [
    (
        "It was a cold day.  The men walked slowly.  Nobody\n"
        'spoke a word, or said "Halt!"  Then it began to snow.  They\n'
        "stopped at the inn.  It was shut.\n"
    ),
    (
        "The   program  is   a wrapper around  another program.  It\n"
        "allows one  to specify  the  options in one  place,  and\n"
        "runs the  second program  that  is  right for  the chosen\n"
        "device.   Doing  so,  a  long chain  of pipes  can  be left.\n"
    ),
    (
        "The exact size of  12  units is rounded  up to the next\n"
        "whole one,  which may be  larger.  Bear this in  mind when\n"
        "you search.\n"
    ),
]
TABLES = [
    ("Name    Amount\nAnna        12\n", "Name | Amount\nAnna | 12"),
    ("Total  5\nRest   3\n", "Total | 5\nRest | 3"),
    (
        "Anna   Oslo    reads\nBenno  Trento  paints\nClara  Vienna  sings\nDavid  Zurich  draws\n",
        "Anna | Oslo | reads\nBenno | Trento | paints\nClara | Vienna | sings\nDavid | Zurich | draws",
    ),
    (
        "Acme Inc.           Delaware\nAcme Holdings Inc.  Texas\nBell Ltd.           England\n",
        "Acme Inc. | Delaware\nAcme Holdings Inc. | Texas\nBell Ltd. | England",
    ),
    (
        "K1  Bruno, dog of Hallorand\nK3  Mitzi, cat of Szabados\nK4  Pepper, rabbit of Dunmore\n"
        "K5  Oskar, dog of Ferreiro\niso Nana, kitten, nobody's yet\n",
        "K1 | Bruno, dog of Hallorand\nK3 | Mitzi, cat of Szabados\nK4 | Pepper, rabbit of Dunmore\n"
        "K5 | Oskar, dog of Ferreiro\niso Nana, kitten, nobody's yet | ",
    ),
]


def rows_of(name: str, text: str) -> list[str]:
    """The header, which may be empty, and the rows of the table in a file."""
    (table,) = tables(parse(name, text))
    return [" | ".join(row) for row in (*(table.header or [()]), *table.rows)]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        *((prose, [("text", 0, " ".join(prose.split()))]) for prose in PROSE),
        # A line that had room for the next word was not wrapped.
        (f"2. Waiting list\n{WRAPPED}", [("text", 0, "2. Waiting list\n" + WRAPPED.replace("\n", " "))]),
        (POEM, [("text", 0, POEM)]),
        # What is not seen is no text.
        (
            "ABOUT\n\n\u200b\n\nOne line,\n\u2060\u200c\nand another: می\u200cخواهم\n\n\ufeff \u00ad\n",
            [
                ("heading", 2, "ABOUT"),
                ("text", 0, "One line,"),
                ("text", 0, "and another: می\u200cخواهم"),
            ],
        ),
        (
            "第一章 总则\n\n为了规范管理，\n制定本办法。\n\n第一条 适用范围\n\n本办法适用于本市。\n",
            [
                ("heading", 1, "第一章 总则"),
                ("text", 0, "为了规范管理，制定本办法。"),
                ("heading", 2, "第一条 适用范围"),
                ("text", 0, "本办法适用于本市。"),
            ],
        ),
    ],
)
def test_lines_are_joined_only_where_they_were_wrapped(
    text: str, blocks: list[tuple[str, int, str]]
) -> None:
    assert shape(parse("a.txt", text)) == blocks


@pytest.mark.parametrize(("text", "rows"), TABLES)
def test_gaps_that_make_columns_are_a_table(text: str, rows: str) -> None:
    assert "\n".join(rows_of("a.txt", text)).lstrip() == rows


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("To do\n\n1. Buy milk\n\n2. Call the plumber\n\n3. Pay the rent\n\nNothing else.\n", []),
        ("Pancakes\n\n2 cups of flour\n\n1 egg\n\n3 cups of milk\n\nMix it.\n", []),
        ("Agenda\n\n1. Welcome\n\n2. Minutes\n   Approved.\n\n3. Budget\n\nIt is 400 euros.\n", []),
        ("MILK\n\nEGGS\n\nBREAD\n\nThen home.\n", []),
        ("- MILK\n\n- EGGS\n---\n\nThen home.\n", []),
        ("1. Scope\n\n1.1 Terms\n\nA list:\n\n1. one\n\n2. two\n\n2. Use\n\nDry.\n", [2, 3, 2]),
        ("12 MARCH 2024\n\n10 Downing Street\n\nDear Sir,\n\nthank you.\n", []),
        ("12 March 2024\n\nRain.\n\n15 March 2024\n\nSun.\n", [2, 2]),
        ("12. März 2024\n\nDer Regen hört nicht auf.\n\n15. März 2024\n\nSonne.\n", [2, 2]),
    ],
)
def test_a_list_has_no_headings_and_numbered_sections_and_days_have(text: str, levels: list[int]) -> None:
    assert [block.level for block in headings(parse("a.txt", text))] == levels


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("letter.txt", "12 March 2024\n\nDear Ms Smith,\n\nthank you.\n", "letter"),
        ("letter.md", "# March 12, 2024\n\nDear Ms Smith,\n\n## Costs\n\nNone.\n", "letter"),
        ("letter.md", "# 12. März 2024\n\n# Angebot\n\nWir danken für die Anfrage.\n", "Angebot"),
        ("letter.md", "# 12 March 2024\n\nDear Ms Smith,\n\n# Costs\n\nNone.\n", "letter"),
        ("memo.md", "---\ntitle: 12 March 2024\n---\n\n# Offer\n\nText.\n", "Offer"),
        ("memo.md", "# June\n\nShe came late.\n", "June"),
        ("faq.txt", "About zlib\n\n1. Is it fast?\n\nYes.\n\n2. Is it small?\n\nYes.\n", "faq"),
    ],
)
def test_neither_a_date_nor_the_heading_of_a_part_is_a_title(name: str, text: str, title: str) -> None:
    assert parse(name, text).title == title


@pytest.mark.parametrize(
    ("name", "text", "date"),
    [
        ("a.md", "# Price list\n\nValid from 1 March 2026\n\nBread costs 3 euros.\n", "2026-03-01"),
        ("a.txt", "Bakery\nValid from: 1 March 2026\nPrices in euros\nBread 3", "2026-03-01"),
        ("a.md", "# Preisliste\n\nGültig ab 1. März 2026\n\nDas Brot kostet drei Euro.\n", "2026-03-01"),
        ("a.md", "# Minutes of the committee meeting of 6 May 2025\n\nThe roof leaks.\n", "2025-05-06"),
        ("a.txt", "The roof has leaked since the committee meeting of 6 May 2025\n", ""),
        ("a.md", "# Prix\n\n**Dès le 1er mars 2026**\n\nLe pain coûte trois euros.\n", "2026-03-01"),
        ("a.md", "# Council meeting 2024-09-27\n\n- Check-in\n", "2024-09-27"),
        ("a.md", "# Price list\n\nValid from 1 March 2026\n\n2 March 2026\n", "2026-03-02"),
        ("a.md", "# Lease\n\nThe rent is due on 1 March 2026 in full.\n", ""),
        ("a.md", "# Lease\n\nThe first rent is due on 1 March 2026\n", ""),
        ("a.md", "# Prices\n\nValid from March 2026\n", ""),
        ("a.md", f"# Plan\n\n{'It goes on.' * 3}\n\n{'- a' * 2}\n\nb\n\nc\n\nd\n\nDue 1 March 2026\n", ""),
    ],
)
def test_a_date_with_a_label_at_the_top_is_the_date(name: str, text: str, date: str) -> None:
    assert parse(name, text).date == date


@pytest.mark.parametrize(
    ("text", "header", "first"),
    [
        *(
            (f'name{sign}note\nA{sign}"with, and; in"\nB{sign}\n', "name | note", "A | with, and; in")
            for sign in ",;\t|"
        ),
        ("a,1\nb,2\n", "", "a | 1"),
        ("month,sum\nMay,1\nJune,2,late\n", "month | sum | ", "May | 1 | "),
        # A comma in a number or in words separates nothing.
        ("Miete;1200,50\nStrom;80,20\n", "", "Miete | 1200,50"),
        ("Name;Preis, netto\nMiete;1200,50\n", "Name | Preis, netto", "Miete | 1200,50"),
        ("Ort;a;b\nKiel;1,5;2,5\nBonn;3,5;4,5\n", "Ort | a | b", "Kiel | 1,5 | 2,5"),
        ("1,5;2,5\n3,5;4,5\n", "", "1,5 | 2,5"),
        ("1,2,3\n4,5,6\n", "", "1 | 2 | 3"),
        ("id,tags\nA,x;y\nB,u;w\n", "id | tags", "A | x;y"),
        # Numbers may name columns.
        ("store,1,2,3,sum\nN,5,6,7,18\nS,1,2,3,6\n", "store | 1 | 2 | 3 | sum", "N | 5 | 6 | 7 | 18"),
        (",0,1\n0,5.5,6.1\n1,7.2,8.3\n", " | 0 | 1", "0 | 5.5 | 6.1"),
        ("North,5,6,9\nSouth,1,2,4\n", "", "North | 5 | 6 | 9"),
        ("Anna,1,2,2\nBen,3,4,4\n", "", "Anna | 1 | 2 | 2"),
        ("7,1,2,3\n8,2,3,4\n", "", "7 | 1 | 2 | 3"),
        # Lines in a cell stay in it.
        (
            'id,note\n1,"Dear Anna,\nI read it, twice.\nBest, Ben"\n2,none\n',
            "id | note",
            "1 | Dear Anna, I read it, twice. Best, Ben",
        ),
    ],
)
def test_what_is_a_cell_or_a_header(text: str, header: str, first: str) -> None:
    assert rows_of("a.csv", text)[:2] == [header, first]


def test_a_quote_that_is_never_closed_takes_in_no_other_rows() -> None:
    rows = [f'{n},pipe {n},"of {n}\nor more"\n' for n in range(5)]
    rows[1:1] = ['8,"12 inch pipe,steel\n', *(f"{n},tube {n},iron\n" for n in range(20, 26))]
    table = rows_of("a.csv", "id,name,note\n" + "".join(rows))
    assert table[2:4] == ['8 | "12 inch pipe | steel', "20 | tube 20 | iron"]
    assert table[-1] == "4 | pipe 4 | of 4 or more"
    assert len(table) == 13


@pytest.mark.parametrize(
    "above", ["Report of sales, generated 2024\n", "Sales\nBy Anna, 2024\n", "Report,2024,,\n"]
)
def test_lines_above_the_names_of_columns_are_text(above: str) -> None:
    text = f"{above}region,first,second,third\nNorth,1,2,3\nSouth,4,5,6\n"
    assert [kind for kind, _, _ in shape(parse("a.csv", text))] == ["text"] * above.count("\n") + ["table"]
    assert rows_of("a.csv", text)[0] == "region | first | second | third"


@pytest.mark.parametrize("stray", [b"\xff", b"\x80", b"\xc3", b"\xe4 "])
def test_a_stray_byte_costs_one_character_not_all(stray: bytes) -> None:
    data = GERMAN.encode().replace(b"zahlt", stray + b"zahlt")
    (block,) = parse("a.txt", data).blocks
    assert block.text.replace("\ufffd ", "").replace("\ufffd", "") == GERMAN


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", GERMAN),
        ("utf-8-sig", GERMAN),
        ("utf-16", GERMAN),
        ("utf-16-le", GERMAN),
        ("utf-16-be", GERMAN),
        ("utf-32", GERMAN),
        ("cp1252", "Der Käufer zahlt für die Übergabe der Schlüssel eine „Gebühr“."),
        ("gb18030", "本公司的主要业务是研究、开发和销售半导体产品，并提供相关的技术服务。"),
        ("cp866", "Основной деятельностью компании является исследование, разработка и продажа."),
        (
            "euc_jp",
            "当社の主な事業は、半導体製品の研究、開発および販売であり、関連するサービスを提供しています。",
        ),
    ],
)
def test_encodings(encoding: str, text: str) -> None:
    assert parse("a.txt", text.encode(encoding)).blocks[0].text == text


def test_a_character_at_the_end_of_the_sample_rules_no_encoding_out() -> None:
    line = "本公司的主要业务是研究、开发和销售半导体产品，并提供相关的技术服务。\n"
    text = "a" + line * ((1 << 20) // len(line.encode("gb18030")) + 9)
    assert "半导体产品" in parse("a.txt", text.encode("gb18030")).blocks[0].text
