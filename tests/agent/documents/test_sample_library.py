"""The sample library says what its questions say it says."""

from __future__ import annotations

import json
from functools import cache

from agent.documents.reading import read
from agent.documents.sample_library import COLLECTIONS, demo_question, documents, root

QUESTIONS = list(map(json.loads, (root() / "questions.jsonl").read_text("utf-8").splitlines()))
NAMES = [f"{name}/{path.name}" for name in COLLECTIONS for path in documents(name)]


@cache
def visible_text(name: str) -> str:
    return " ".join(read(root() / name).visible_text.split())


def test_the_one_demo_question_takes_several_steps_over_both_collections() -> None:
    (demo,) = (question for question in QUESTIONS if question.get("demo"))
    assert demo["question"] == demo_question()
    assert {evidence["collection"] for evidence in demo["evidence"]} == set(COLLECTIONS)
    assert len(demo["steps"]) == len(demo["evidence"]) >= 2


def test_evidence_is_verbatim_in_its_document() -> None:
    for question in QUESTIONS:
        is_unanswerable = question["kind"] == "unanswerable"
        assert is_unanswerable == (question["answer"] == []) == (question["evidence"] == [])
        for evidence in question["evidence"]:
            name = f"{evidence['collection']}/{evidence['document']}"
            assert evidence["quote"] in visible_text(name), question["id"]


def test_gold_answers_can_be_read_off_the_evidence() -> None:
    for question in QUESTIONS:
        if question["kind"] in {"comparison", "synthesis", "unanswerable"}:
            continue
        quotes = " ".join(evidence["quote"] for evidence in question["evidence"]).casefold()
        accepted = question["answer"]
        assert any(all(part in quotes for part in answer.casefold().split("; ")) for answer in accepted)
        assert not [bad for bad in question["wrong"] for answer in accepted if bad in answer]


def test_superseded_value_is_only_in_the_earlier_document() -> None:
    (question,) = [question for question in QUESTIONS if question["kind"] == "superseded"]
    old = question["wrong"][0]
    assert [name for name in NAMES if old in visible_text(name)] == ["reports/preliminary-results-2024.md"]
