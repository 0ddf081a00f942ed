"""Published files of questions become one thing, and their paragraphs a library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.questions import BadQuestions, Case, Place
from tests.benchmarks.multihop import (
    Hop,
    Paragraph,
    QuestionSet,
    filled,
    named,
    pool,
    pooled,
    read_questions,
)
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.store import Store

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


def _file(folder: Path, *records: object) -> Path:
    path = folder / "set.jsonl"
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
    assert filled("Who married #1?", ["Ode"]) == "Who married Ode?"


def test_a_record_of_no_set_is_reported_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadQuestions, match="Line 2"):
        read_questions(_file(tmp_path, HOTPOT, {"question": "a", "supporting_facts": []}))


def test_a_pooled_set_is_asked_over_its_paragraphs_by_position(tmp_path: Path) -> None:
    read = pooled(read_questions(_file(tmp_path, MUSIQUE)))
    gold = (Place("0"), Place("1"))
    assert read.cases == (Case("m1", MUSIQUE["question"], ("Bergen", "Bergen, Norway"), gold),)
    assert (read.name, read.collections) == ("set", ("set",))


def test_the_library_follows_the_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "deepthink.duckdb")

    def filled_with(*titles: str) -> tuple[list[tuple[int, int]], list[str]]:
        paragraphs = tuple(Paragraph(title, f"{title} lies on a river.") for title in titles)
        told = list(pool(QuestionSet("dev", paragraphs, ()), store, HashEmbedder()))
        return told, [document.title for document in Library(store).documents("dev")]

    assert filled_with("Avelin", "Kestrel") == ([(2, 2)], ["Avelin", "Kestrel"])
    assert filled_with("Avelin", "Kestrel") == ([], ["Avelin", "Kestrel"])
    assert sorted(filled_with("Avelin", "Oder")[1]) == ["Avelin", "Oder"]
