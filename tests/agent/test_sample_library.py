"""The sample library says what its questions say it says, and its sums add up."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from docx import Document
from pypdf import PdfReader

from agent.sample_library import (
    COLLECTIONS,
    KINDS,
    SampleQuestion,
    demo_question,
    documents,
    questions,
    root,
)

REPORT = "reports/annual-report-2024.html"
PRELIMINARY = "reports/preliminary-results-2024.md"
FIGURE = re.compile(r"^\(?\$?([\d,]+\.\d)\s*\)?$")
CJK = re.compile(r"[\u4e00-\u9fff]")

QUESTIONS = questions()
by_id = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)


def spaced(text: str) -> str:
    return " ".join(text.split())


@cache
def report() -> BeautifulSoup:
    """The annual report without its head and without what a browser would not show."""
    soup = BeautifulSoup((root() / REPORT).read_text(encoding="utf-8"), "lxml")
    for hidden in soup.find_all(["head", "script", "style"]):
        hidden.decompose()
    while hidden_tag := soup.find(style=re.compile(r"display:\s*none")):
        hidden_tag.extract()
    return soup


def html_text() -> str:
    """Inline elements run on, as in a browser; cells and blocks stand apart."""
    pieces: list[str] = []

    def walk(tag: Tag) -> None:
        apart = tag.name in {"div", "td", "th", "tr", "table", "hr", "p", "li"}
        pieces.append(" " if apart else "")
        for child in tag.children:
            if isinstance(child, Tag):
                walk(child)
            else:
                pieces.append(str(child))
        pieces.append(" " if apart else "")

    walk(report())
    return "".join(pieces)


def docx_text(path: Path) -> str:
    document = Document(str(path))
    cells = [c.text for t in document.tables for row in t.rows for c in row.cells]
    return "\n".join([p.text for p in document.paragraphs] + cells)


@cache
def visible_text(name: str) -> str:
    path = root() / name
    match path.suffix:
        case ".html":
            text = html_text()
        case ".pdf":
            text = " ".join(page.extract_text() for page in PdfReader(path).pages)
        case ".docx":
            text = docx_text(path)
        case _:
            text = path.read_text(encoding="utf-8")
    return spaced(text)


def all_names() -> list[str]:
    return [f"{name}/{path.name}" for name in COLLECTIONS for path in documents(name)]


def amount(text: str) -> float | None:
    """A figure as the report prints it; in parentheses it is negative."""
    if text.strip() == "—":
        return 0.0
    if not (found := FIGURE.match(text.strip())):
        return None
    value = float(found[1].replace(",", ""))
    return -value if text.strip().startswith("(") else value


@cache
def tables() -> list[dict[str, list[list[float]]]]:
    """Every table of the annual report: label of a row to the figures of each such row."""
    result: list[dict[str, list[list[float]]]] = []
    for table in report().find_all("table"):
        rows: dict[str, list[list[float]]] = {}
        for row in table.find_all("tr"):
            cells = [spaced(c.get_text()) for c in row.find_all("td")]
            label = next((c for c in cells if c), "")
            values = [v for c in cells if (v := amount(c)) is not None]
            if label and values:
                rows.setdefault(label, []).append(values)
        result.append(rows)
    return result


def table_with(*labels: str) -> dict[str, list[list[float]]]:
    return next(t for t in tables() if all(label in t for label in labels))


def assert_sum(parts: list[list[float]], total: list[float]) -> None:
    assert [sum(column) for column in zip(*parts, strict=True)] == pytest.approx(total)


def parts_of(answer: str) -> list[str]:
    return [part for part in answer.casefold().split("; ") if part]


# ---------------------------------------------------------------- documents


def test_collections_hold_a_dozen_documents_and_nothing_else() -> None:
    assert set(COLLECTIONS) == {p.name for p in root().iterdir() if p.is_dir()} - {"__pycache__"}
    assert 12 <= len(all_names()) <= 15
    assert {Path(n).suffix for n in all_names()} >= {".html", ".md", ".txt", ".pdf", ".csv"}
    assert all("\n" not in line for line in COLLECTIONS.values())


def test_library_is_small_enough_to_index_in_the_first_minute() -> None:
    assert 55_000 < sum(len(visible_text(n)) for n in all_names()) < 95_000


def test_unknown_collection_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"letters.*reports, newsroom"):
        documents("letters")


@pytest.mark.parametrize("name", [n for n in all_names() if n.endswith((".md", ".txt"))])
def test_text_documents_open_with_a_title_and_a_date(name: str) -> None:
    lines = [x for x in (root() / name).read_text(encoding="utf-8").splitlines() if x.strip()]
    assert len(lines[0]) > 20
    assert re.match(r"(Date: \d{1,2} [A-Z][a-z]+ 2025|日期:2025年\d{1,2}月\d{1,2}日)$", lines[1])


def test_hidden_header_of_the_report_is_not_visible() -> None:
    assert "EntityCentralIndexKey" in (root() / REPORT).read_text(encoding="utf-8")
    assert "0000000000" not in visible_text(REPORT)
    assert "iso4217" not in visible_text(REPORT)


def test_contents_page_links_to_headings_that_exist() -> None:
    targets = {a["href"] for a in report().find_all("a")}
    assert len(targets) > 10
    assert all(report().find(id=str(t).removeprefix("#")) for t in targets)


def test_only_one_document_is_chinese() -> None:
    assert [n for n in all_names() if CJK.search(visible_text(n))] == [
        "newsroom/2025-08-05-yunpu-expansion-zh.md"
    ]


# ---------------------------------------------------------------- questions


def test_every_kind_of_question_is_there() -> None:
    count = Counter(q.kind for q in QUESTIONS)
    assert set(count) == set(KINDS)
    assert count["single_fact"] >= 3
    assert count["bridge"] >= 3
    assert min(count[k] for k in ("table", "comparison", "synthesis", "unanswerable")) >= 2
    assert len({q.id for q in QUESTIONS}) == len(QUESTIONS)


def test_the_one_demo_question_takes_several_steps_over_both_collections() -> None:
    assert [q for q in QUESTIONS if q.demo] == [demo_question()]
    demo = demo_question()
    assert set(demo.collections) == set(COLLECTIONS)
    assert len(demo.steps) == len(demo.evidence) >= 2
    assert {e.document.split("/")[0] for e in demo.evidence} == set(COLLECTIONS)


@by_id
def test_evidence_is_verbatim_in_its_document(question: SampleQuestion) -> None:
    for evidence in question.evidence:
        assert evidence.document in all_names()
        assert spaced(evidence.quote) == evidence.quote
        assert evidence.quote in visible_text(evidence.document)
        assert evidence.document.split("/")[0] in question.collections


@by_id
def test_answer_and_evidence_go_together(question: SampleQuestion) -> None:
    unanswerable = question.kind == "unanswerable"
    assert unanswerable == (question.answer == "") == (question.evidence == ())
    assert not (unanswerable and (question.aliases or question.steps))
    assert set(question.collections) <= set(COLLECTIONS)


@by_id
def test_gold_answer_contains_nothing_it_must_not(question: SampleQuestion) -> None:
    for accepted in (question.answer, *question.aliases):
        assert not [bad for bad in question.must_not_contain if bad in accepted]


@pytest.mark.parametrize(
    "question",
    [q for q in QUESTIONS if q.kind not in {"comparison", "synthesis", "unanswerable"}],
    ids=lambda q: q.id,
)
def test_gold_answer_can_be_read_off_the_evidence(question: SampleQuestion) -> None:
    quotes = " ".join(e.quote for e in question.evidence).casefold()
    accepted = (question.answer, *question.aliases)
    assert any(all(part in quotes for part in parts_of(a)) for a in accepted)


@pytest.mark.parametrize("q", [q for q in QUESTIONS if q.kind == "bridge"], ids=lambda q: q.id)
def test_bridge_cannot_skip_its_first_hop(q: SampleQuestion) -> None:
    first, second = q.evidence
    found = parts_of(q.answer)[0]
    assert found not in q.question.casefold()
    assert found not in q.steps[0].casefold()
    assert found in first.quote.casefold()
    assert found in second.quote.casefold()
    assert found in q.steps[1].casefold()


def test_two_bridges_cross_the_collections() -> None:
    bridges = [q for q in QUESTIONS if q.kind == "bridge"]
    assert len([q for q in bridges if len(set(q.collections)) == 2]) >= 2


def test_superseded_value_stands_only_in_the_earlier_document() -> None:
    (question,) = [q for q in QUESTIONS if q.kind == "superseded"]
    old = question.must_not_contain[0]
    assert [n for n in all_names() if old in visible_text(n)] == [PRELIMINARY]
    assert "supersedes the preliminary results" in visible_text(REPORT)


def test_chinese_answer_stands_nowhere_else() -> None:
    (question,) = [q for q in QUESTIONS if q.kind == "chinese"]
    (evidence,) = question.evidence
    for value in (question.answer, *question.aliases):
        holders = [n for n in all_names() if value in visible_text(n)]
        assert set(holders) <= {evidence.document}


# ---------------------------------------------------------------- figures


def test_segment_revenue_and_income_add_up() -> None:
    segments = table_with("Building Systems", "Industrial Heat", "Unallocated corporate costs")
    names = ("Building Systems", "Industrial Heat", "Services")
    assert_sum([segments[n][0] for n in names], segments["Total net revenue"][0])
    earned = segments["Total segment operating income"][0]
    assert_sum([segments[n][1] for n in names], earned)
    costs = segments["Unallocated corporate costs"][0]
    assert_sum([earned, costs], segments["Operating income"][0])
    regions = table_with("Europe", "Total net revenue by region")
    total = regions.pop("Total net revenue by region")[0]
    assert_sum([values[0] for values in regions.values()], total)
    assert total == segments["Total net revenue"][0]


def test_income_statement_adds_up() -> None:
    t = table_with("Gross profit", "Net income")
    assert_sum([t["Products"][0], t["Services"][0]], t["Total net revenue"][0])
    assert_sum([t["Products"][1], t["Services"][1]], t["Total cost of revenue"][0])
    assert_sum([t["Gross profit"][0], t["Total cost of revenue"][0]], t["Total net revenue"][0])
    spent = ["Research and development", "Selling, general and administrative", "Restructuring"]
    assert_sum([t[n][0] for n in spent], t["Total operating expenses"][0])
    assert_sum([t["Operating income"][0], t["Total operating expenses"][0]], t["Gross profit"][0])
    below = [
        "Operating income",
        "Interest expense",
        "Equity in income of joint venture",
        "Other income (expense), net",
        "Income tax expense",
    ]
    assert_sum([t[n][0] for n in below], t["Net income"][0])
    assert_sum([t[n][0] for n in below[:-1]], t["Income before income taxes"][0])


def test_balance_sheet_balances() -> None:
    rows = {label: values[0] for label, values in table_with("Total assets").items()}
    labels = list(rows)

    def between(first: str, last: str) -> list[list[float]]:
        return [rows[n] for n in labels[labels.index(first) : labels.index(last)]]

    assert_sum(between("Cash and cash equivalents", "Total current assets"), rows["Total current assets"])
    assert_sum(between("Total current assets", "Total assets"), rows["Total assets"])
    assert_sum(between("Accounts payable", "Total current liabilities"), rows["Total current liabilities"])
    assert_sum(between("Total current liabilities", "Total liabilities"), rows["Total liabilities"])
    assert_sum([rows["Total liabilities"], rows["Total stockholders’ equity"]], rows["Total assets"])


@pytest.mark.parametrize(
    "total",
    [
        "Total backlog",
        "Total inventories",
        "Income tax expense",
        "Accrued warranty at end of year",
        "Investment at end of year",
        "Equity at end of year",
        "Total principal due",
    ],
)
def test_last_row_of_a_note_is_the_sum_of_the_rows_above(total: str) -> None:
    table = next(t for t in tables() if list(t)[-1:] == [total])
    *above, last = [values[0] for values in table.values()]
    assert_sum(above, last)


def test_property_adds_up() -> None:
    rows = [values[0] for values in table_with("Construction in progress").values()]
    land, machinery, construction, cost, depreciation, net = rows
    assert_sum([land, machinery, construction], cost)
    assert_sum([cost, depreciation], net)
    assert net == table_with("Total assets")["Property, plant and equipment, net"][0]


def test_cash_flow_adds_up() -> None:
    rows = [values[0] for values in table_with("Cash at end of year").values()]
    operating, investing, financing, exchange, increase, beginning, end = rows
    assert_sum([operating, investing, financing, exchange], increase)
    assert_sum([beginning, increase], end)


def test_debt_adds_up() -> None:
    rows = [values[0] for values in table_with("Total principal").values()]
    loan, notes, revolver, principal, costs, net, current, long_term = rows
    assert_sum([loan, notes, revolver], principal)
    assert_sum([principal, costs], net)
    assert_sum([net, current], long_term)
    assert long_term == table_with("Total assets")["Long-term debt, less current portion"][0]


def test_quarters_add_up_to_the_year() -> None:
    quarters = table_with("Net revenue", "Operating income")
    year = table_with("Gross profit", "Net income")
    assert sum(quarters["Net revenue"][0]) == pytest.approx(year["Total net revenue"][0][0])
    assert sum(quarters["Operating income"][0]) == pytest.approx(year["Operating income"][0][0])


def test_preliminary_table_adds_up_and_differs_in_one_segment_only() -> None:
    rows: dict[str, list[float]] = {}
    for line in (root() / PRELIMINARY).read_text(encoding="utf-8").splitlines():
        cells = [c.strip().removeprefix("$") for c in line.strip("|").split("|")]
        values = [v for c in cells[1:] if (v := amount(c)) is not None]
        if len(values) == 2:
            rows[cells[0]] = values
    total = rows.pop("Total net revenue")
    assert_sum(list(rows.values()), total)
    final = table_with("Building Systems", "Unallocated corporate costs")
    changed = {n: v[0] - final[n][0][0] for n, v in rows.items() if v != final[n][0][:2]}
    assert changed == {"Industrial Heat": pytest.approx(12.5)}
