"""Files of questions: three published formats and plain lines become one thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.collecting.questions import BadQuestions, Hop, filled, named, read_questions, references
from tests.conftest import DATA

HOTPOT: dict[str, Any] = {
    "_id": "h1",
    "question": "Who wrote the song that Ode sang?",
    "answer": "Anna",
    "context": [["Song", ["Ode sang it.", " Anna wrote it."]], ["Other", ["Nothing."]]],
    "supporting_facts": [["Song", 1]],
}
TWO_WIKI: dict[str, Any] = {
    **HOTPOT,
    "_id": "w1",
    "evidences": [["Song", "performer", "Ode"], ["Ode", "spouse", "Anna"], ["Ode", "spouse", "Eva"]],
}
MUSIQUE: dict[str, Any] = {
    "id": "m1",
    "question": "Where was the singer of Song born?",
    "answer": "Bergen",
    "answer_aliases": ["Bergen, Norway"],
    "paragraphs": [
        {"title": "Song", "paragraph_text": "Ode sang it.", "is_supporting": True},
        {"title": "Ode", "paragraph_text": "Born in Bergen.", "is_supporting": True},
        {"title": "Song", "paragraph_text": "A form of music.", "is_supporting": False},
    ],
    "question_decomposition": [
        {"question": "Song >> performer", "answer": "Ode", "paragraph_support_idx": 0},
        {"question": "Where was #1 born?", "answer": "Bergen", "paragraph_support_idx": 1},
    ],
}


def _file(folder: Path, *records: object, name: str = "set.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n", "utf-8")
    return path


def test_hotpotqa(tmp_path: Path) -> None:
    read = read_questions(_file(tmp_path, HOTPOT, {**HOTPOT, "_id": "h2"}))
    assert (read.name, len(read.paragraphs), len(read.questions)) == ("set", 2, 2)
    (first, _) = read.questions
    assert first.answers == ("Anna",)
    assert [read.paragraphs[i].title for i in first.gold] == ["Song"]
    assert read.paragraphs[0].text == "Ode sang it. Anna wrote it."
    assert first.hops == ()


def test_2wiki_facts_become_questions_that_lean_on_each_other(tmp_path: Path) -> None:
    (question,) = read_questions(_file(tmp_path, TWO_WIKI)).questions
    assert question.hops == (
        Hop("What is the performer of Song?", "Ode"),
        Hop("What is the spouse of #1?", "Anna"),
    )


def test_a_question_names_its_paragraph_by_the_longest_title_in_it() -> None:
    titles = {3: "Devotion", 5: "Devotion II (film)", 8: "Other"}
    assert named("What is the director of devotion II?", titles) == 5
    assert named("What is the director of Devotion?", titles) == 3
    assert named("Who was born first?", titles) is None


def test_musique(tmp_path: Path) -> None:
    read = read_questions(_file(tmp_path, MUSIQUE))
    (question,) = read.questions
    assert question.answers == ("Bergen", "Bergen, Norway")
    assert sorted(question.gold) == [0, 1]
    assert question.hops[0].question == "What is the performer of Song?"
    assert references(question.hops[1].question) == [1]
    assert filled("Who married #1?", ["Ode"]) == "Who married Ode?"


def test_plain_lines(tmp_path: Path) -> None:
    lines = [{"question": "Why?"}, {"question": "Who?", "answer": ["Ode", "Ms Ode"], "id": "x"}]
    first, second = read_questions(_file(tmp_path, *lines)).questions
    assert (first.answers, first.gold) == ((), frozenset())
    assert (second.id, second.answers) == ("x", ("Ode", "Ms Ode"))


def test_a_question_without_an_id_is_called_the_same_wherever_it_stands(tmp_path: Path) -> None:
    (alone,) = read_questions(_file(tmp_path, {"question": "Why?"})).questions
    before, after = read_questions(_file(tmp_path, {"question": "Who?"}, {"question": "Why?"})).questions
    assert alone.id == after.id != before.id


@pytest.mark.parametrize(
    ("answer", "expected"), [(42, ("42",)), ([1.5, "x"], ("1.5", "x")), (None, ()), ([], ())]
)
def test_an_answer_may_be_a_number_or_none(tmp_path: Path, answer: Any, expected: tuple[str, ...]) -> None:
    (read,) = read_questions(_file(tmp_path, {"question": "How many?", "answer": answer})).questions
    assert read.answers == expected


def test_a_text_may_hold_the_line_breaks_that_json_allows(tmp_path: Path) -> None:
    path = tmp_path / "breaks.jsonl"
    path.write_text('{"question": "Who wrote\u2028this?", "answer": "A\u0085b"}\r\n', "utf-8")
    (read,) = read_questions(path).questions
    assert (read.text, read.answers) == ("Who wrote this?", ("A\x85b",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no question"),
        ("{", "is not JSON"),
        ("[1]", "no JSON object"),
        ('{"answer": "x"}', "not a question"),
        ('{"question": " "}', "the question is empty"),
        ('{"question": "a", "answer": {"text": "b"}}', "is no answer"),
        ('{"question": "Why?"}\n{"question": "Why? "}', "twice: Why?"),
        ('{"question": "a", "id": 1}\n{"question": "b", "id": 1}', "twice"),
        ('{"question": "a", "supporting_facts": []}', "not a question"),
    ],
)
def test_what_is_no_file_of_questions_is_told(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(BadQuestions, match=said):
        read_questions(path)


def test_a_file_that_is_not_there_or_not_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadQuestions, match="No such file"):
        read_questions(tmp_path / "none.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadQuestions, match="not UTF-8"):
        read_questions(tmp_path / "binary.jsonl")


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
@pytest.mark.parametrize("name", ["hotpotqa", "2wikimultihopqa", "musique"])
def test_the_published_files_are_read_whole(name: str) -> None:
    train = read_questions(DATA / "multihop" / f"{name}_train.jsonl")
    dev = read_questions(DATA / "multihop" / f"{name}_dev.jsonl")
    assert not {q.id for q in train.questions} & {q.id for q in dev.questions}
    for question in (*train.questions, *dev.questions):
        assert len(question.gold) >= 2
        assert question.answers[0]
        assert all(n <= i for i, hop in enumerate(question.hops) for n in references(hop.question))
