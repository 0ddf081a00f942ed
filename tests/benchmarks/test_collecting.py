"""Questions become trees through the real funnel, without a model and without a glance at the gold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.state import RELEVANCE
from policy.decisions import load_trees
from tests.benchmarks.collecting import Grower, behaviour, collect
from tests.benchmarks.multihop import pool, read_questions
from tests.scripted import HashEmbedder, WordReader
from traces.decisions import Collected
from traces.store import Store

QUESTION = "Where was the singer of Hello Love born?"
RECORD: dict[str, Any] = {
    "id": "q1",
    "question": QUESTION,
    "answer": "Brooklyn, Nova Scotia",
    "answer_aliases": [],
    "paragraphs": [
        {"title": "Hello Love", "paragraph_text": "Hello Love is a single by the singer Hank Snow.",
         "is_supporting": True},
        {"title": "Hank Snow", "paragraph_text": "Hank Snow was born in Brooklyn, Nova Scotia.",
         "is_supporting": True},
        *({"title": f"River {n}", "paragraph_text": f"The river {n} flows through county {n}.",
           "is_supporting": False} for n in range(30)),
    ],
    "question_decomposition": [
        {"question": "Hello Love >> performer", "answer": "Hank Snow", "paragraph_support_idx": 0},
        {"question": "Where was #1 born?", "answer": "Brooklyn, Nova Scotia", "paragraph_support_idx": 1},
    ],
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small_train.jsonl"
    other = {**RECORD, "id": "q2", "question": "Where was the singer of the single Hello Love born?"}
    path.write_text("\n".join(map(json.dumps, (RECORD, other))), "utf-8")
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "collected.duckdb")


def test_every_path_is_grown_and_its_state_shows_nothing_that_only_gold_could_tell(
    file: Path, store: Store
) -> None:
    questions, embedder = read_questions(file), HashEmbedder()
    list(pool(questions, store, embedder))
    states = Grower(store, questions.name, embedder, WordReader()).grow(questions.questions[0])
    grown = {node.path: node for node in states}
    assert {"", "C", "R", "CR", "RC"} <= set(grown)
    texts = {paragraph["title"] for paragraph in RECORD["paragraphs"]}
    for path, node in grown.items():
        assert path == "" or path[:-1] in grown
        assert node.state.step - len(path) in {0, 1}  # a step may bring no search
        assert all(action == "FINISH" or path + action[0] in grown for action in node.valid)
        for finding in node.state.findings:
            assert finding["answer"] in {"", *texts}
            assert finding["found"] == (finding["relevance"] >= 0.5)
        assert all(item[RELEVANCE] <= 1.0 for item in node.state.evidence)
    assert (grown["C"].detail["complete"], grown["C"].quality) == (1.0, 1.0)
    assert grown["C"].state.query == "Where was Hank Snow born?", "asked of what the first look-up found"
    assert grown[""].quality < 1.0


def test_a_file_is_collected_once_and_goes_on_where_it_was_stopped(file: Path, store: Store) -> None:
    for progress in collect(file, store, HashEmbedder(), WordReader()):
        if progress.doing == "questions" and progress.done:
            break
    assert len(Collected(store).held("small_train")) == 1
    again = list(collect(file, store, HashEmbedder(), WordReader()))
    assert (again[0].done, again[-1].done, again[-1].total) == (1, 2, 2)
    (last,) = collect(file, store, HashEmbedder(), WordReader())
    assert last.done == 2


def test_what_was_collected_reads_as_trees(file: Path, store: Store) -> None:
    list(collect(file, store, HashEmbedder(), WordReader()))
    read = load_trees(store)
    assert [tree.dataset for tree in read.trees] == ["small", "small"]
    assert {tree.question for tree in read.trees} == {"small/q1", "small/q2"}
    tree = read.trees[0]
    assert tree.root.source == "evidence"
    assert tree.nodes["C"].quality == 1.0
    assert tree.nodes["C"].detail["complete"] == 1.0
    with store.connect() as db:
        (steps,) = db.execute("SELECT count(*) FROM transitions WHERE NOT done").fetchone() or (0,)
    assert steps == sum(len(t.nodes) - 1 for t in read.trees)


def test_the_recorded_behaviour_has_its_true_probabilities(file: Path, store: Store) -> None:
    assert behaviour(("CONTINUE", "REVISE", "FINISH")) == pytest.approx(
        {"CONTINUE": 14 / 15, "REVISE": 1 / 30, "FINISH": 1 / 30}
    )
    assert behaviour(("FINISH",)) == {"CONTINUE": 0.0, "REVISE": 0.0, "FINISH": 1.0}
