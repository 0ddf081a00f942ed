"""Policies on two tiny question sets: from files to tables, and again from where it stopped."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.prompts import NOT_FOUND
from models.protocols import ChatOptions, Message, Reply, Usage
from policy.training import forest, material
from tests.benchmarks import policies
from tests.scripted import HashEmbedder, ScriptedChat, WordReader

TOWNS = (
    "Bergen Oslo Lund Malmo Turku Riga Vilnius Gdansk Kiel Bremen Delft Ghent Liege Metz Dijon Lyon".split()
)
NAMES = "Anna Boris Carla Dmitri Elsa Frode Greta Hugo Inga Jonas Karin Lars Mona Nils Olga Pavel".split()


def _record(dataset: str, number: int) -> dict[str, Any]:
    song, singer, town = f"{dataset} song {number}", f"{NAMES[number % 16]} {dataset}", TOWNS[number % 16]
    return {
        "id": f"{dataset}{number}",
        "question": f"Where was the singer of {song} born?",
        "answer": town,
        "answer_aliases": [],
        "paragraphs": [
            {"title": song, "paragraph_text": f"{song} is sung by {singer}.", "is_supporting": True},
            {"title": singer, "paragraph_text": f"{singer} was born in {town}.", "is_supporting": True},
            {"title": f"{town} river", "paragraph_text": f"A river in {town}.", "is_supporting": False},
        ],
        "question_decomposition": [
            {"question": f"Who sings {song}?", "answer": singer, "paragraph_support_idx": 0},
            {"question": "Where was #1 born?", "answer": town, "paragraph_support_idx": 1},
        ],
    }


class _Planner:
    """Two look-ups: the singer of the song in the question, then that singer's town."""

    def complete(self, text: str, _max_tokens: int) -> str:
        song = re.findall(r"Question: .*singer of (.+) born", text)[-1]
        return f" =\nWho sings {song}?\nWhere was #1 born?"


class _Chat(ScriptedChat):
    """Copies the last sentence that it is shown before the question."""

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        facts = re.findall(r"[A-Z][^.\n]* (?:sung by|born in) [^.\n]+\.", messages[-1].content)
        return Reply(facts[-1] if facts else NOT_FOUND, Usage())


def _open_parts(_settings: object) -> dict[str, object]:
    return {"chat": _Chat([]), "embedder": HashEmbedder(), "reader": WordReader(), "planner": _Planner()}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for dataset in ("folk", "jazz"):
        for split, numbers in (("train", range(6)), ("dev", range(9, 11))):
            lines = [json.dumps(_record(dataset, number)) for number in numbers]
            (folder / f"{dataset}_{split}.jsonl").write_text("\n".join(lines), "utf-8")
    monkeypatch.setattr("tests.benchmarks.policies.open_parts", _open_parts)
    monkeypatch.setattr(material, "FEWEST_QUESTIONS", 4)
    monkeypatch.setattr(material, "FEWEST_DECISIONS", 10)
    monkeypatch.setattr(forest, "TREES", 5)
    return folder


def test_from_files_to_tables_and_a_box_and_again(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work, box = tmp_path / "work", tmp_path / "box"
    command = [str(data), "--work", str(work), "--method", "forest", "--box", str(box)]
    policies.main(command)
    table = (work / "RESULTS.md").read_text("utf-8")
    for expected in ("## all: 4 questions", "| forest |", "| fixed 2 |", "| rules |", "| oracle |"):
        assert expected in table
    assert str(tmp_path) not in table
    assert "nan" not in table
    assert (box / "boxed-forest" / "manifest.json").is_file()
    # So few questions pass no gate: the rules go on deciding.
    assert json.loads((box / "active.json").read_text("utf-8")) == {"active": "box"}
    capsys.readouterr()
    policies.main(command)
    assert "forest is trained already" in capsys.readouterr().out
