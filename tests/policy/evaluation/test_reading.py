"""Each kind of question file becomes cases; the first n of one are the same whatever n is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.collecting.questions import BadQuestions, Paragraph, Question, QuestionSet
from policy.evaluation.cases import Case, CaseSet, Place, filings, first, plain, pooled, sample
from policy.evaluation.libraries import recognised, sets_in


def _file(tmp_path: Path, *records: Any) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in records), "utf-8")
    return path


def test_a_pooled_set_names_its_paragraphs_by_their_position() -> None:
    paragraphs = tuple(Paragraph(f"Title {n}", "Text.") for n in range(12))
    asked = Question("q", "Who?", ("Ann", "Anne"), frozenset({11, 2}))
    assert pooled(QuestionSet("hotpotqa_dev", paragraphs, (asked,))) == CaseSet(
        "hotpotqa_dev",
        (Case("q", "Who?", ("Ann", "Anne"), (Place("2"), Place("11"))),),
        ("hotpotqa_dev",),
    )


def test_plain_lines_may_leave_out_all_but_the_question(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        {"question": "Who?", "answer": "Ann", "id": "a", "evidence": ["r.pdf", "r.pdf#3", "r.pdf#3"]},
        "",
        {
            "question": " Which\n one? ",
            "answer": ["One", "1"],
            "evidence": [{"document": "r.pdf", "page": 12}, {"document": "notes #2.md"}, "issue #b"],
        },
        {"question": "Nobody knows?", "answer": ""},
        {"question": "Nobody at all?"},
    )
    assert plain(path) == CaseSet(
        "mine",
        (
            Case("a", "Who?", ("Ann",), (Place("r.pdf"), Place("r.pdf", 3))),
            Case(
                "31de73d7",
                "Which one?",
                ("One", "1"),
                (Place("r.pdf", 12), Place("notes #2.md"), Place("issue #b")),
            ),
            Case("643d8b11", "Nobody knows?", ()),
            Case("aa275231", "Nobody at all?", ()),
        ),
    )


@pytest.mark.parametrize(
    ("damaged", "what"),
    [
        ("{", "Line 3 of mine.jsonl is not JSON"),
        ({"answer": "Ann"}, "Line 3 of mine.jsonl is not a question"),
        *(
            ({"question": "Who?", "evidence": evidence}, "Line 3 of mine.jsonl has no evidence")
            for evidence in (
                "r.pdf",
                [3],
                [""],
                ["#3"],
                ["r.pdf#0"],
                [{"page": 3}],
                [{"document": "r.pdf", "page": "3"}],
                [{"document": "r.pdf", "page": True}],
            )
        ),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path: Path, damaged: Any, what: str) -> None:
    path = _file(tmp_path, {"question": "Fine?"}, "", damaged)
    with pytest.raises(BadQuestions) as caught:
        plain(path)
    assert caught.value.message.startswith(what)


def test_pages_of_filings_are_counted_from_one(tmp_path: Path) -> None:
    record = {
        "id": "f",
        "question": "How much?",
        "answer": "$2",
        "doc": "A_10K.pdf",
        "evidence_pages": [0, 7],
    }
    (case,) = filings(_file(tmp_path, record)).cases
    assert case == Case("f", "How much?", ("$2",), (Place("A_10K.pdf", 1), Place("A_10K.pdf", 8)))


def test_filings_may_be_asked_about_as_they_are_published(tmp_path: Path) -> None:
    record = {
        "financebench_id": "financebench_id_1",
        "doc_name": "A_10K",
        "question": "How much?",
        "answer": "$2",
        "evidence": [
            {"evidence_text": "…", "doc_name": "A_10K", "evidence_page_num": 7},
            {"evidence_text": "…", "doc_name": "B_8K", "evidence_page_num": 0},
        ],
    }
    path = _file(tmp_path, record)
    (case,) = filings(path).cases
    gold = (Place("A_10K.pdf", 8), Place("B_8K.pdf", 1))
    assert case == Case("financebench_id_1", "How much?", ("$2",), gold)
    beside, published = tmp_path / "A_10K.pdf", tmp_path / "pdfs" / "B_8K.pdf"
    published.parent.mkdir()
    for place in (beside, published):
        place.touch()
    found = recognised(str(path))
    assert (found.kind, found.files) == ("filings", (beside, published))


@pytest.mark.parametrize(
    "wrong", [{"doc": "A.pdf"}, {"evidence_pages": [1]}, {"doc": "A.pdf", "evidence_pages": ["1"]}]
)
def test_filings_need_a_document_and_pages(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadQuestions, match="Line 1"):
        filings(_file(tmp_path, {"question": "How much?", **wrong}))


def test_the_published_filings_can_be_read(data: Path) -> None:
    read = filings(data / "filings" / "financebench_15.jsonl")
    assert (read.name, len(read.cases)) == ("financebench_15", 15)
    assert read.cases[0].gold == (Place("AMCOR_2023_10K.pdf", 52),)
    assert all(case.answers and case.gold for case in read.cases)


_OWN = {
    "id": "h1",
    "kind": "single",
    "question": "how many days off",
    "all": ["25"],
    "none": ["20"],
    "abstain": False,
    "gold": "25 days",
    "source": ["hr/leave.md"],
}


def _own_set(folder: Path, *records: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "docs").mkdir()
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    return folder


def test_a_set_of_own_documents_is_judged_by_patterns_over_its_folder(tmp_path: Path) -> None:
    nowhere = {
        **_OWN,
        "id": "h2",
        "kind": "unanswerable",
        "abstain": True,
        "all": [],
        "none": [],
        "source": [],
    }
    folder = _own_set(tmp_path / "handbook", _OWN, nowhere)
    asked = recognised(str(folder / "questions.jsonl"))
    assert asked.files == (folder / "docs",)
    assert (asked.cases.name, asked.cases.collections) == ("handbook", ("handbook",))
    first_case, second = asked.cases.cases
    assert first_case.gold == (Place("hr/leave.md"),)
    assert (first_case.required, first_case.forbidden, first_case.answers) == (
        ("25",),
        ("20",),
        ("25 days",),
    )
    assert (second.answers, second.kind) == ((), "unanswerable")


def test_a_folder_names_the_sets_in_it(tmp_path: Path) -> None:
    one, other = (_own_set(tmp_path / "own" / name, _OWN) for name in ("a", "b"))
    assert sets_in(str(one)) == [str(one / "questions.jsonl")]
    assert sets_in(str(tmp_path / "own")) == [str(one / "questions.jsonl"), str(other / "questions.jsonl")]
    assert sets_in("sample") == ["sample"]
    with pytest.raises(BadQuestions, match="no set of questions"):
        sets_in(str(one / "docs"))


def test_a_pattern_that_cannot_be_compiled_is_told_with_its_line(tmp_path: Path) -> None:
    folder = _own_set(tmp_path / "own", {**_OWN, "all": ["("]})
    with pytest.raises(BadQuestions, match="Line 1"):
        recognised(str(folder / "questions.jsonl"))


def test_the_sample_librarys_questions_bring_their_answers_places_and_wrong_values() -> None:
    read = sample()
    by_id = {case.id: case for case in read.cases}
    unknown = by_id["unanswerable-1"]
    assert not unknown.answers
    assert not unknown.gold
    assert by_id["single-1"].answers == ("3,940", "3940")
    assert by_id["single-1"].gold == (Place("annual-report-2024.html"),)
    assert len(by_id["synthesis-1"].gold) == 2  # of three passages two stand in one document
    assert by_id["superseded-1"].wrong == ("1,297.1", "1297.1")
    assert read.collections == ("reports", "newsroom")


def test_the_first_are_the_same_whatever_their_number() -> None:
    cases = CaseSet("s", tuple(Case(str(n), "?", ()) for n in range(20)), ("s",))
    ten = first(cases, 10, seed=0)
    assert first(cases, 4, seed=0).cases == ten.cases[:4]
    assert first(cases, 99, seed=0).cases[:10] == ten.cases
    assert set(first(cases, 99, seed=0).cases) == set(cases.cases)
    assert first(cases, 10, seed=1).cases != ten.cases != cases.cases[:10]
    assert (ten.name, ten.collections) == ("s", ("s",))
    # Fixed for good: another order would ask other questions than the rows on disk are of.
    assert [case.id for case in ten.cases[:4]] == ["6", "14", "4", "17"]


def test_a_case_that_is_gained_leaves_the_others_in_their_order() -> None:
    cases = tuple(Case(str(n), "?", ()) for n in range(20))
    fewer = [case for case in first(CaseSet("s", cases), 20, seed=3).cases if case.id != "7"]
    assert list(first(CaseSet("s", cases[:7] + cases[8:]), 20, seed=3).cases) == fewer
