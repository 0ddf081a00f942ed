"""Passages: within a section and a page, of a length, tables with what names their columns; coverage."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.documents.chunking import chunk, coverage
from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.table_text import parts, row_text, rows, with_headings
from models.token_estimate import estimate
from tests.agent.documents.formats.parsed import doubled_sentences
from traces.records import Chunk

LIMIT = 150 * 1.2
LONG = " ".join(["We sell things."] * 40)
ROWS = tuple((f"Row {n}", f"{n},000", f"{n},500") for n in range(60))


def document(*blocks: Block) -> ParsedDocument:
    lines = []
    for block in blocks:
        lines.append(block.text)
        if block.table is not None:
            lines.append(block.table.caption)
            lines += [" ".join(row) for row in (*block.table.header, *block.table.rows)]
    return ParsedDocument(blocks, "\n".join(lines), title="T")


def text(content: str, page: int | None = None) -> Block:
    return Block("text", content, page=page)


def heading(content: str, level: int = 1) -> Block:
    return Block("heading", content, level=level)


def table(*rows: tuple[str, ...], header: tuple[str, ...] = (), caption: str = "") -> Block:
    return Block("table", table=Table((header,) if header else (), rows, caption))


def test_a_passage_is_in_one_section_and_on_one_page() -> None:
    pages = [heading("A"), text("One.", 1), text("Two.", 1), text("Three.", 2)]
    levels = [heading("B", 3), text("b"), heading("C", 2), text("c"), heading("D"), text("d")]
    chunks = chunk(document(*pages, *levels))
    assert [(made.section, made.page, made.text) for made in chunks] == [
        (("A",), 1, "One.\nTwo."),
        (("A",), 2, "Three."),
        (("A", "B"), None, "b"),
        (("A", "C"), None, "c"),
        (("D",), None, "d"),
    ]
    assert [made.position for made in chunks] == [0, 1, 2, 3, 4]
    assert {made.kind for made in chunks} == {"text"}


def test_a_heading_as_long_as_a_text_is_one() -> None:
    parsed = document(heading("A"), heading(LONG, 2), text("One."))
    chunks = chunk(parsed)
    assert {made.section for made in chunks} == {("A",)}
    assert coverage(parsed, chunks) == 1.0


@pytest.mark.parametrize("unseen", [[], [text("")], [text("\u3000")], [text("\u200b\u200c")]])
def test_a_heading_with_nothing_to_be_seen_under_it_is_its_own_text(unseen: list[Block]) -> None:
    chunks = chunk(document(heading("A"), *unseen, heading("B"), text("b")))
    assert [(made.section, made.text) for made in chunks] == [(("A",), "A"), (("B",), "b")]
    assert chunk(document(*unseen)) == []


def test_long_text_is_cut_between_sentences_in_even_parts() -> None:
    sentences = [f"Sentence number {n} says a thing about the world in some words." for n in range(60)]
    chunks = chunk(document(text(" ".join(sentences))))
    assert len(chunks) > 3
    assert " ".join(made.text for made in chunks) == " ".join(sentences)
    lengths = [estimate(made.text) for made in chunks]
    assert max(lengths) <= LIMIT
    assert min(lengths) > 0.6 * max(lengths)
    assert all(made.text.endswith(".") for made in chunks)


@pytest.mark.parametrize(
    "long", ["word " * 900, "x" * 5000, "字" * 2000, "第九句话。" * 300, "a, b; c: d " * 300]
)
def test_a_sentence_without_end_is_cut_all_the_same(long: str) -> None:
    chunks = chunk(document(text(long.strip())))
    assert "".join("".join(made.text.split()) for made in chunks) == "".join(long.split())
    assert all(estimate(made.text) <= LIMIT for made in chunks)


def test_a_small_table_is_whole() -> None:
    rows = (("Revenue:", "", ""), ("Compute", "$15,068", "36%"), ("Other", "", "2%"))
    segments = table(*rows, header=("Segment", "2023", "Change"))
    (made,) = chunk(document(heading("Segments"), text("Revenue by segment was as follows:"), segments))
    assert (made.kind, made.section, made.repeated) == ("table", ("Segments",), 0)
    assert made.text == (
        "Revenue by segment was as follows:\nSegment | 2023 | Change\n"
        "Revenue:\nCompute | $15,068 | 36%\nOther |  | 2%"
    )


@pytest.mark.parametrize(
    ("above", "kept", "caption"),
    [
        ("Results are shown below.", "", "Results are shown below."),
        ("Consolidated Statements of Income", "", "Consolidated Statements of Income"),
        ("主要数据如下", "", "主要数据如下"),
        ("We sell things. We like it.", "We sell things. We like it.", ""),
        (f"{LONG} Sales were as follows:", LONG, "Sales were as follows:"),
    ],
)
def test_what_introduces_a_table_is_its_caption(above: str, kept: str, caption: str) -> None:
    parsed = document(text(above), table(("a", "1"), header=("k", "v")))
    chunks = chunk(parsed)
    prose = " ".join(made.text for made in chunks if made.kind == "text")
    (made,) = [made for made in chunks if made.kind == "table"]
    assert " ".join(prose.split()) == kept
    assert made.text == "\n".join(filter(None, [caption, "k | v", "a | 1"]))
    assert doubled_sentences(parsed, chunks) == []
    assert coverage(parsed, chunks) == 1.0


def test_a_large_table_repeats_caption_header_and_section() -> None:
    rows = [("Assets:", "", ""), *ROWS, ("Total assets", "9", "9"), *ROWS]
    parsed = document(text("Balance:"), table(*rows, header=("", "2023", "2022")))
    first, *rest = chunk(parsed)
    assert first.repeated == 0
    head = "Balance:\n| 2023 | 2022\n"
    assert first.text.startswith(head + "Assets:\nRow 0 | ")
    after_total = False
    for made in rest:
        lead = made.text[: made.repeated]
        assert lead == (head if after_total else head + "Assets:\n")
        after_total = after_total or "Total assets" in made.text
    lines = [line for made in (first, *rest) for line in made.text[made.repeated :].splitlines()]
    assert lines == ["Balance:", "| 2023 | 2022", *(row_text(row) for row in rows)]
    assert all(estimate(made.text) <= 300 for made in (first, *rest))
    assert coverage(parsed, [first, *rest]) == 1.0


def test_a_section_row_stays_with_its_rows() -> None:
    rows = [row for n in range(20) for row in ((f"Section {n}:", "", ""), *ROWS[:4])]
    for made in chunk(document(table(*rows, header=("", "2023", "2022")))):
        assert not made.text.endswith(":")


def test_estimate_counts_what_models_split() -> None:
    assert estimate("") == 0
    assert estimate("revenue of the company") == 4
    assert estimate("$26,974") >= 4
    assert estimate("营业收入增长") == 6
    assert estimate("incomprehensibilities") >= 3


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
LINES = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
CELLS = st.lists(WORDS, min_size=3, max_size=3).map(tuple)
BLOCKS = st.one_of(
    st.builds(lambda content: Block("text", content), LINES),
    st.builds(lambda content, level: Block("heading", content, level=level), LINES, st.integers(1, 6)),
    st.builds(
        lambda header, rows: Block("table", table=Table((header,), tuple(rows))),
        CELLS,
        st.lists(CELLS, min_size=1, max_size=30),
    ),
)


@patch("agent.documents.chunking._TARGET_TOKENS", 20)
@patch("agent.documents.table_text._TABLE_TOKENS", 40)
@given(st.lists(BLOCKS, max_size=12))
def test_no_text_is_lost(blocks: list[Block]) -> None:
    chunks = chunk(document(*blocks))
    assert [made.position for made in chunks] == list(range(len(chunks)))
    whole = "".join("".join(made.text[made.repeated :].split()) for made in chunks)
    for block in blocks:
        if block.kind == "text":
            assert "".join(block.text.split()) in whole
        if block.table is not None:
            for row in block.table.rows:
                for cell in row:
                    assert "".join(cell.split()) in whole


@patch("agent.documents.table_text._TABLE_TOKENS", 90)
@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=30),
    st.lists(st.integers(0, 12), min_size=1, max_size=8),
)
def test_each_cell_stands_under_its_name_and_beside_its_label(names: list[int], lengths: list[int]) -> None:
    width = len(names)
    header = ("id", *(" ".join(["name"] * words) + f" {n}" for n, words in enumerate(names)))
    rows = [
        (f"row {r}", *(" ".join(["so"] * words) + f" {r} {n}" for n in range(width)))
        for r, words in enumerate(lengths)
    ]
    parsed = document(table(*rows, header=header))
    chunks = chunk(parsed)
    found = set()
    for made in chunks:
        head, *lines = (line.split(" | ") for line in made.text.splitlines())
        assert head[0] == "id"
        for label, *cells in lines:
            for name, cell in zip(head[1:], cells, strict=True):
                row, column = cell.split()[-2:]
                assert (label, name) == (f"row {row}", header[int(column) + 1])
                found.add((row, column))
        assert estimate(made.text) <= 90
    assert len(found) == width * len(lengths)
    assert coverage(parsed, chunks) == 1.0


def test_long_cells_are_cut_alone_and_what_is_short_stands_together() -> None:
    story = " ".join(f"Sentence {n} of a long story." for n in range(120))
    rows = [("7", "Bridges", story, "2020"), ("8", "Roads", "short", "2021")]
    parsed = document(table(*rows, header=("id", "title", "abstract", "year")))
    first, *cut, last = chunk(parsed)
    assert first.text == "id | title | year\n7 | Bridges | 2020"
    assert all(made.text.startswith("id | abstract\n7") for made in cut)
    assert last.text == "id | title | abstract | year\n8 | Roads | short | 2021"
    assert [made.repeated for made in cut[1:]] == [len("id | abstract\n7\n")] * (len(cut) - 1)
    assert coverage(parsed, [first, *cut, last]) == 1.0


def test_a_long_row_under_the_name_of_a_section_is_cut_too() -> None:
    replies = tuple(f"reply number {n} of many" for n in range(80))
    chunks = chunk(document(table(("Part A:", *[""] * 80), ("Anna", *replies))))
    assert [made.text.splitlines()[0] for made in chunks] == ["Part A:"] * len(chunks)
    assert all(estimate(made.text) <= 300 for made in chunks)
    assert all(made.text.splitlines()[-1].startswith("Anna | reply") for made in chunks[1:])


def test_a_long_label_is_shortened_beside_other_columns() -> None:
    review = " ".join(f"I liked part {n}," for n in range(120))
    parsed = document(table((review, "5", "2020"), header=("review", "stars", "year")))
    first, *rest = chunk(parsed)
    assert first.text.startswith("review | stars | year\nI liked part 0,")
    assert first.text.endswith(" | 5 | 2020")
    assert all(made.text.startswith("review\nI liked") for made in rest)
    assert coverage(parsed, [first, *rest]) == 1.0


def piece(text: str, *section: str, repeated: int = 0) -> Chunk:
    return Chunk(0, "text", section, None, text, repeated=repeated)


@pytest.mark.parametrize(
    ("visible", "chunks", "share"),
    [
        ("one two three four", [piece("One, two! THREE four.")], 1.0),
        ("one two three four", [piece("one two")], 0.5),
        ("one two three four", [piece("one two"), piece("one two")], 0.5),
        ("one one two two", [piece("one two")], 0.5),
        ("one two", [piece("one two three")], 1.0),
        ("中文的内容", [piece("中文")], 0.4),
        ("one two", [], 0.0),
        ("", [], 1.0),
        ("Head one Head two", [piece("one", "Head"), piece("two", "Head")], 0.75),
        ("Head one Tail two", [piece("one", "Head"), piece("two", "Tail")], 1.0),
        ("Head", [piece("Head", "Head")], 1.0),
        ("Head Head", [piece("Head", "Head")], 0.5),
        ("A B a | 1 a | 2", [piece("A | B\na | 1"), piece("A | B\na | 2", repeated=6)], 1.0),
        ("A B A B c 1", [piece("A | B\nc | 1"), piece("A | B\nc | 1", repeated=6)], 4 / 6),
    ],
)
def test_coverage(visible: str, chunks: list[Chunk], share: float) -> None:
    assert coverage(ParsedDocument((), visible), chunks) == pytest.approx(share)


def test_the_text_of_a_table_is_read_back() -> None:
    assert parts("only text") == (["only text"], [])
    assert parts("") == ([], [])
    assert parts("Caption\nA | B\nx | 1") == (["Caption", "A | B"], ["x | 1"])
    body = ["Year 1:", "a | 1", "b | 2", "Year 2:", "a | 3"]
    assert with_headings(body, [2, 4]) == ["Year 1:", "b | 2", "Year 2:", "a | 3"]
    (row,) = rows("In millions | 2024 | 2023\nServices | 1 | 2 | 3")
    assert row.spelled() == "Services: 1, 2, 3"
