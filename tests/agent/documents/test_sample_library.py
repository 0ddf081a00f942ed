"""The sample library says what its questions say it says, and its sums add up."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from agent.documents.reading import read
from agent.documents.sample_library import (
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

QUESTIONS = questions()
by_id = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)


def spaced(text: str) -> str:
    return " ".join(text.split())


@cache
def visible_text(name: str) -> str:
    """The text of a document on one line."""
    return spaced(read(root() / name).visible_text)


def all_names() -> list[str]:
    return [f"{name}/{path.name}" for name in COLLECTIONS for path in documents(name)]


def parts_of(answer: str) -> list[str]:
    return [part for part in answer.casefold().split("; ") if part]


# ---------------------------------------------------------------- documents


def test_collections_hold_a_dozen_documents_and_nothing_else() -> None:
    assert set(COLLECTIONS) == {p.name for p in root().iterdir() if p.is_dir()} - {"__pycache__"}
    assert 12 <= len(all_names()) <= 15
    assert {Path(n).suffix for n in all_names()} >= {".html", ".md", ".txt", ".pdf", ".csv"}
    assert all("\n" not in line for line in COLLECTIONS.values())


def test_unknown_collection_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"letters.*reports, newsroom"):
        documents("letters")


def test_hidden_header_of_the_report_is_not_visible() -> None:
    assert "EntityCentralIndexKey" in (root() / REPORT).read_text(encoding="utf-8")
    assert "0000000000" not in visible_text(REPORT)
    assert "iso4217" not in visible_text(REPORT)


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
