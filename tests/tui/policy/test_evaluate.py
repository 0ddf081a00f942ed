"""``deepthink evaluate``: from questions to tables, again from the rows, one question, wrong input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import UnsureReader
from tests.scripted import HashEmbedder
from tests.tui.conftest import QUESTION, Answering, Run

SYSTEMS = "closed-book,shallow,search-and-guess,lean"


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Answering:
    model = Answering()
    monkeypatch.setattr("tui.policy.evaluating.open_chat", lambda _settings: model)
    monkeypatch.setattr("tui.policy.evaluating.open_embedder", lambda _settings: HashEmbedder())
    monkeypatch.setattr("tui.policy.evaluating.open_reader", lambda _settings: UnsureReader())
    return model


@pytest.fixture
def own(folder: Path, deepthink: Run, tmp_path: Path) -> Path:
    """Questions about two documents of the person's own."""
    assert deepthink("ingest", str(folder), "-c", "facts").code == 0
    asked: list[dict[str, Any]] = [
        {"id": "a", "question": QUESTION, "answer": "Tolvang Ceramics", "evidence": ["supplier.md"]},
        {"id": "b", "question": "Who owns the moon?"},
    ]
    return _written(tmp_path / "mine.jsonl", asked)


def _written(file: Path, records: list[dict[str, Any]]) -> Path:
    file.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return file


def test_from_questions_to_tables_and_again_without_the_model(
    own: Path, chat: Answering, deepthink: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "table.md"
    first = deepthink("evaluate", str(own), "--systems", SYSTEMS, "--out", str(out))
    assert (first.code, first.err) == (0, "")
    assert "mine, scripted" in first.out
    for system in SYSTEMS.split(","):
        assert system in first.out
    table = out.read_text("utf-8")
    assert "deepthink evaluate mine.jsonl --systems" in table
    assert str(tmp_path) not in table

    def silent(_options: object) -> None:
        raise AssertionError("it was asked again")

    chat.during = silent
    again = deepthink("evaluate", str(own), "--systems", SYSTEMS)
    assert again.code == 0
    assert "8 of 8" in again.out
    assert "search-and-guess" in deepthink("evaluate", "report").out


def test_one_question_is_looked_at(own: Path, chat: Answering, deepthink: Run) -> None:
    deepthink("evaluate", str(own), "--systems", SYSTEMS, "--limit", "2")
    assert chat.closed
    shown = deepthink("evaluate", "show", "a").out
    assert "search-and-guess" in shown
    assert "Tolvang" in shown
    missing = deepthink("evaluate", "show", "zzz")
    assert missing.code == 2
    assert "No finished question is called zzz." in missing.err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["evaluate", "none.jsonl"], 4, "none.jsonl cannot be read"),
        (["collect", "--questions", "none.jsonl"], 4, "none.jsonl cannot be read"),
        (["evaluate", "sample", "--systems", "deep"], 2, "There is no system “deep”."),
        (["evaluate", "sample", "--limit", "0"], 2, "--limit"),
        (["evaluate", "sample", "--out", "."], 2, "is a folder"),
        (["evaluate", "report", "--out", ".."], 2, "is a folder"),
        (["evaluate", "report"], 2, "There is no finished question yet."),
    ],
)
def test_wrong_input_is_a_sentence(arguments: list[str], code: int, told: str, deepthink: Run) -> None:
    ran = deepthink(*arguments)
    assert ran.code == code
    assert told in ran.err
