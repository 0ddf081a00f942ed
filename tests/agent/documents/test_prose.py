"""Words broken at the end of a line, and small raised digits beside a number, in any format."""

from __future__ import annotations

from io import BytesIO

import docx
import pytest

from agent.documents.chunking import chunk, coverage
from agent.documents.prose import mended, words_of
from tests.agent.documents.formats.parsed import parse, shape, tables
from tests.agent.documents.formats.samples import Drawn, drawn_pdf, pdf_file, saved

STYLED = "<span style='font-size:6.5pt;{}'>{}</span>".format

# Inline HTML, and how it is read.
MARKED = [
    ("45.2<sup>1</sup> million", "45.2^1 million"),
    ("10<sup>6</sup> and 10<sup>-6</sup>", "10^6 and 10^-6"),
    ("12%<sup>1,2</sup> of (45)<sup>3</sup>", "12%^1,2 of (45)^3"),
    ("5<sup>1</sup><sup>2</sup>", "5^12"),
    ("<sup>1</sup>2023 figures", "1 2023 figures"),
    ("the 1<sup>st</sup>, 2<sup>nd</sup> and 30<sup>th</sup>", "the 1st, 2nd and 30th"),
    ("Place<sup>®</sup>, 7<sup>®</sup>", "Place®, 7®"),
    ("Revenue<sup>1</sup> of 45<sup>(1)</sup>", "Revenue1 of 45(1)"),
    ("10 m<sup>2</sup> of CO<sub>2</sub>", "10 m2 of CO2"),
]


@pytest.mark.parametrize(("marked", "read"), MARKED)
@pytest.mark.parametrize(
    ("name", "frame"), [("a.html", "<html><body><p>{}</p></body></html>"), ("a.md", "{}")]
)
def test_tags(name: str, frame: str, marked: str, read: str) -> None:
    document = parse(name, frame.format(marked))
    assert shape(document) == [("text", 0, read)]
    assert document.visible_text == read
    assert coverage(document, chunk(document)) == 1.0


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (f"<p><span>45.2</span>{STYLED('position:relative;top:-3.5pt', 1)}</p>", "45.2^1"),
        (f"<p><b>45.2</b>{STYLED('vertical-align:super', 1)}</p>", "45.2^1"),
        (f"<p>45.2<sup>{STYLED('vertical-align:super', 1)}</sup></p>", "45.2^1"),
        ("<p>45.2<sup><a name='x'></a>1</sup></p>", "45.2^1"),
        ("<p>45.2<i hidden>x</i><sup>1</sup></p>", "45.2^1"),
        ("<p>45.2<sup hidden>1</sup> m</p>", "45.2 m"),
        ("<p>45.2<br><sup>1</sup>Note</p>", "45.2 1Note"),
        (f"<p>45.2{STYLED('vertical-align:sub', 1)}</p>", "45.21"),
    ],
)
def test_styles_and_neighbours(body: str, read: str) -> None:
    assert shape(parse("a.html", f"<html><body>{body}</body></html>")) == [("text", 0, read)]


def test_a_table_with_footnotes_stays_a_table() -> None:
    rows = (
        "<tr><td></td><td>2023<sup>1</sup></td><td>2022</td></tr>"
        "<tr><td>Sales</td><td>1,234<sup>1</sup></td><td>1,100<sup>2</sup></td></tr>"
        "<tr><td>Cost</td><td>(3)<sup>1</sup></td><td>—</td></tr>"
    )
    (table,) = tables(parse("a.html", f"<html><body><table>{rows}</table></body></html>"))
    assert table.header == (("", "2023^1", "2022"),)
    assert table.rows == (("Sales", "1,234^1", "1,100^2"), ("Cost", "(3)^1", "—"))


def test_word() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    for text in ("Sales of 45.2", "^1", "^2", " on the 1", "^st", " of May, 10", "^6", "7 units"):
        run = paragraph.add_run(text.removeprefix("^"))
        run.font.superscript = text.startswith("^")
    parsed = parse("a.docx", saved(document))
    read = "Sales of 45.2^12 on the 1st of May, 10^6 7 units"
    assert shape(parsed) == [("text", 0, read)]
    assert parsed.visible_text == read


def test_pdf_text() -> None:
    from reportlab.pdfgen.canvas import Canvas

    out = BytesIO()
    canvas = Canvas(out)
    text = canvas.beginText(72, 700)
    for part in ("Sales of 45.2", "^1", " million, 10", "^-6", " on the 1", "^st", " of May"):
        text.setFont("Helvetica", 6 if part[0] == "^" else 10)
        text.setRise(3.3 if part[0] == "^" else 0)
        text.textOut(part.removeprefix("^"))
    canvas.drawText(text)
    canvas.save()
    read = "Sales of 45.2^1 million, 10^-6 on the 1st of May"
    assert shape(parse("a.pdf", out.getvalue())) == [("text", 0, read)]


def test_pdf_table() -> None:
    """The marks of a table's cells are drawn apart from their numbers."""
    rows = [
        Drawn(700, {300: "2023", 400: "2022"}),
        Drawn(688, {72: "Sales", 300: "1,234", 400: "1,100"}),
        Drawn(676, {72: "Cost", 300: "900", 400: "800"}),
        *(Drawn(691.3, {325.3: "1"}, 6), Drawn(679.3, {416.9: "2"}, 6)),
    ]
    (table,) = tables(parse("a.pdf", drawn_pdf(rows)))
    assert table.header == (("", "2023", "2022"),)
    assert table.rows == (("Sales", "1,234^1", "1,100"), ("Cost", "900", "800^2"))


KNOWN = "International Functions of the long-term loan, a term. Re-cover or recover?"


@pytest.mark.parametrize(
    ("broken", "read"),
    [
        ("the inter-\nnational banks", "the international\nbanks"),
        ("the Inter-\r\n  national, banks", "the International,\n  banks"),
        ("func-\ntions.\n\nNext", "functions.\n\nNext"),
        ("a long-\nterm loan", "a long-\nterm loan"),
        ("a re-\ncover of", "a re-\ncover of"),
        ("never-\nseen words", "never-\nseen words"),
        ("in-\nter-\nnational", "in-\nter-\nnational"),
        ("state-of-\nthe-art", "state-of-\nthe-art"),
        ("737-\n10 jets", "737-\n10 jets"),
    ],
)
def test_only_words_known_in_one_piece_are_mended(broken: str, read: str) -> None:
    assert mended(broken, words_of(KNOWN)) == read


TEXT = """The banks that are international have functions that
no other has, and use them for the long-term good of
all, as the treaties that they have signed, the inter-
national ones too, will say, and all of their long-
term plans, and as the reports that have been never-
failing, and that they publish, have it of the func-
tions."""
READ = (
    "The banks that are international have functions that no other has, and use them for the long-term "
    "good of all, as the treaties that they have signed, the international ones too, will say, and all of "
    "their long-term plans, and as the reports that have been never-failing, and that they publish, have "
    "it of the functions."
)


@pytest.mark.parametrize(
    ("name", "content"), [("a.txt", TEXT), ("a.pdf", pdf_file(TEXT))], ids=["text", "pdf"]
)
def test_paragraphs(name: str, content: str | bytes) -> None:
    document = parse(name, content)
    assert " ".join(text for _, _, text in shape(document)) == READ
    assert coverage(document, chunk(document)) == 1.0
