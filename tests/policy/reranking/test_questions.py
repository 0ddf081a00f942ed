"""Records of the three formats as questions with their supporting paragraphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from policy.reranking.questions import read_pool

CONTEXT = [
    ["Jaws (film)", ["Jaws is a film. ", "It was directed by Steven Spielberg."]],
    ["Steven Spielberg", ["He was born in Cincinnati."]],
    ["Ohio", ["Cincinnati lies in Ohio."]],
]


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def hotpot(**more: Any) -> dict[str, Any]:
    return {
        "_id": "h1",
        "question": "Where was the director of Jaws born?",
        "answer": "Cincinnati",
        "context": CONTEXT,
        "supporting_facts": [["Jaws (film)", 1], ["Steven Spielberg", 0]],
        **more,
    }


def test_a_hotpot_record_asks_its_question(tmp_path: Path) -> None:
    pool = read_pool(written(tmp_path / "hotpotqa_train.jsonl", hotpot()))
    assert pool.name == "hotpotqa_train"
    assert pool.paragraphs[0].passage == "Jaws (film). Jaws is a film. It was directed by Steven Spielberg."
    assert pool.own == {"h1": (0, 1, 2)}
    (asked,) = pool.asked
    assert (asked.record, asked.whole, set(asked.gold)) == ("h1", True, {0, 1})
    assert asked.doubtful == {2}, "it holds the answer and is not marked"


def test_paragraphs_that_records_share_are_there_once(tmp_path: Path) -> None:
    pool = read_pool(written(tmp_path / "x.jsonl", hotpot(), hotpot(_id="h2")))
    assert len(pool.paragraphs) == len(CONTEXT)
    assert [asked.record for asked in pool.asked] == ["h1", "h2"]


def test_2wiki_pairs_are_asked_of_the_paragraph_they_name(tmp_path: Path) -> None:
    pairs = [
        {"question": "Who directed Jaws?", "answer": "Jaws was directed by Steven Spielberg."},
        {"question": "Where was he born?", "answer": "Cincinnati"},
    ]
    facts = [["Jaws", "director", "Steven Spielberg"]]
    pool = read_pool(written(tmp_path / "x.jsonl", hotpot(qa_pairs=pairs, evidences=facts)))
    whole, part = pool.asked
    assert whole.whole
    assert (part.question, part.whole, set(part.gold)) == ("Who directed Jaws?", False, {0})
    assert part.doubtful == set(), "no other paragraph holds the fact's object"


def test_musique_steps_have_earlier_answers_put_in(tmp_path: Path) -> None:
    record = {
        "id": "2hop__1",
        "question": "Where was the director of Jaws born?",
        "answer": "Cincinnati",
        "paragraphs": [
            {"title": title, "paragraph_text": " ".join(texts), "is_supporting": i < 2}
            for i, (title, texts) in enumerate(CONTEXT)
        ],
        "question_decomposition": [
            {"question": "Jaws >> director", "answer": "Steven Spielberg", "paragraph_support_idx": 0},
            {"question": "Where was #1 born?", "answer": "Cincinnati", "paragraph_support_idx": 1},
            {"question": "Which year?", "answer": "1946", "paragraph_support_idx": None},
        ],
    }
    pool = read_pool(written(tmp_path / "x.jsonl", record))
    assert [(asked.question, asked.whole, set(asked.gold)) for asked in pool.asked] == [
        ("Where was the director of Jaws born?", True, {0, 1}),
        ("What is the director of Jaws?", False, {0}),
        ("Where was Steven Spielberg born?", False, {1}),
    ]
