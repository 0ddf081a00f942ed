"""The whole protocol on two tiny question sets: from files to a table, and again from where it stopped."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from models.scripted import HashEmbedder, WordReader
from policy import forest
from policy.training import material
from tests.tui.conftest import Run
from tui.failures import EXIT_CODES

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


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for dataset in ("folk", "jazz"):
        for split, numbers in (("train", range(9)), ("dev", range(9, 12))):
            lines = [json.dumps(_record(dataset, number)) for number in numbers]
            (folder / f"{dataset}_{split}.jsonl").write_text("\n".join(lines), "utf-8")
    monkeypatch.setattr("tui.protocol.open_embedder", lambda _settings: HashEmbedder())
    monkeypatch.setattr("tui.protocol.open_reader", lambda _settings: WordReader())
    monkeypatch.setattr(material, "FEWEST_QUESTIONS", 4)
    monkeypatch.setattr(material, "FEWEST_DECISIONS", 10)
    monkeypatch.setattr(forest, "TREES", 5)
    return folder


def test_from_files_to_a_table_and_again(data: Path, tmp_path: Path, deepthink: Run) -> None:
    work = tmp_path / "work"
    command = ["policy", "protocol", str(data), "--work", str(work), "--method", "forest"]
    first = deepthink(*command)
    assert first.code == 0, first.err
    table = (work / "RESULTS.md").read_text("utf-8")
    assert "plan done" in table
    assert "forest" in table
    assert "trained without it" in table
    assert "deepthink policy protocol data --method forest --cost 0.05 --seed 0" in table
    assert str(tmp_path) not in table
    assert json.loads((work / "RESULTS.json").read_text("utf-8"))["scopes"][0]["questions"] == 6

    again = deepthink(*command)
    assert again.code == 0, again.err
    assert "forest is trained already" in again.out
    assert "0 new states" in again.out

    dearer = deepthink(*command, "--cost", "0.2")
    assert dearer.code == 0, dearer.err
    assert "trained already" not in dearer.out


def test_ctrl_c_ends_the_judging(
    data: Path, tmp_path: Path, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes hours: to be asked to stop and go on all the same would not do."""
    judged: list[str] = []

    def judging(name: str, *_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        judged.append(name)

    monkeypatch.setattr("tui.protocol._judged", judging)
    work = str(tmp_path / "work")
    told = deepthink(
        "policy", "protocol", str(data), "--work", work, "--method", "forest", "--judge", "one"
    )
    assert told.code == EXIT_CODES["cancelled"]
    assert not judged


def test_a_folder_without_question_sets_is_told(tmp_path: Path, deepthink: Run) -> None:
    told = deepthink("policy", "protocol", str(tmp_path), "--work", str(tmp_path / "work"))
    assert told.code == 2
    assert "_train.jsonl" in told.err


def test_a_method_that_there_is_not_is_told(tmp_path: Path, deepthink: Run) -> None:
    told = deepthink("policy", "protocol", str(tmp_path), "--work", str(tmp_path), "--method", "magic")
    assert told.code == 2
    assert "magic" in told.err
