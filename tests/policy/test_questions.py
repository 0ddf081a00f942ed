"""Each kind of question file becomes cases; the first n of a set are the same whatever n is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.questions import BadQuestions, Case, CaseSet, Place, read_set, sets_in


def _file(tmp_path: Path, *records: Any) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in records), "utf-8")
    return path


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
    places = (Place("r.pdf", 12), Place("notes #2.md"), Place("issue #b"))
    assert read_set(str(path)) == CaseSet(
        "mine",
        (
            Case("a", "Who?", ("Ann",), (Place("r.pdf"), Place("r.pdf", 3))),
            Case("31de73d7", "Which one?", ("One", "1"), places),
            Case("643d8b11", "Nobody knows?", ()),
            Case("aa275231", "Nobody at all?", ()),
        ),
    )


@pytest.mark.parametrize(
    ("damaged", "what"),
    [
        ("{", "Line 3 of mine.jsonl is not JSON"),
        ("[1]", "Line 3 of mine.jsonl is not a JSON object"),
        ({"answer": "Ann"}, "Line 3 of mine.jsonl is not a question"),
        ({"question": " "}, "Line 3 of mine.jsonl is not a question: question"),
        ({"question": "Why?", "answer": {"text": "b"}}, "Line 3 of mine.jsonl is not a question"),
        ({"question": " Fine? "}, "mine.jsonl has the question"),
        *(
            ({"question": "Who?", "evidence": evidence}, "Line 3 of mine.jsonl is not a question")
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
        read_set(str(path))
    assert caught.value.message.startswith(what)


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
    unanswered = {"kind": "unanswerable", "abstain": True, "all": [], "none": [], "source": []}
    nowhere = {**_OWN, "id": "h2", **unanswered}
    folder = _own_set(tmp_path / "handbook", _OWN, nowhere)
    asked = read_set(str(folder / "questions.jsonl"))
    assert asked.files == (("handbook", (folder / "docs",)),)
    assert (asked.name, asked.collections) == ("handbook", ("handbook",))
    first_case, second = asked.cases
    assert first_case.gold == (Place("hr/leave.md"),)
    assert (first_case.required, first_case.forbidden) == (("25",), ("20",))
    assert first_case.answers == ("25 days",)
    assert (second.answers, second.kind) == ((), "unanswerable")


def test_a_folder_names_the_sets_in_it(tmp_path: Path) -> None:
    one, other = (_own_set(tmp_path / "own" / name, _OWN) for name in ("a", "b"))
    assert sets_in(str(one)) == [str(one / "questions.jsonl")]
    assert sets_in(str(tmp_path / "own")) == [str(one / "questions.jsonl"), str(other / "questions.jsonl")]
    assert sets_in("sample") == ["sample"]
    with pytest.raises(BadQuestions, match="no set of questions"):
        sets_in(str(one / "docs"))


def test_the_sample_librarys_questions_bring_their_answers_places_and_wrong_values() -> None:
    read = read_set("sample")
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
    ten = cases.first(10)
    assert cases.first(4).cases == ten.cases[:4]
    assert cases.first(None).cases[:10] == ten.cases
    assert set(cases.first(99).cases) == set(cases.cases)
    assert ten.cases != cases.cases[:10]
    assert (ten.name, ten.collections) == ("s", ("s",))
    # Fixed for good: another order would ask other questions than the rows on disk are of.
    assert [case.id for case in ten.cases[:4]] == ["6", "14", "4", "17"]


@pytest.mark.parametrize(
    ("answer", "expected"), [(42, ("42",)), ([1.5, "x"], ("1.5", "x")), (None, ()), ([""], ())]
)
def test_an_answer_may_be_a_number_or_none(tmp_path: Path, answer: Any, expected: tuple[str, ...]) -> None:
    (case,) = read_set(str(_file(tmp_path, {"question": "How many?", "answer": answer}))).cases
    assert case.answers == expected


def test_a_file_that_is_empty_missing_or_not_text_is_reported(tmp_path: Path) -> None:
    for name, content, said in (
        ("empty.jsonl", b"", "contains no questions"),
        ("binary.jsonl", b"\xff\xfe\x00", "not UTF-8"),
        ("none.jsonl", None, "No such file"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(BadQuestions, match=said):
            read_set(str(tmp_path / name))
