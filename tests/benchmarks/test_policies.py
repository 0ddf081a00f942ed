"""Policies on collected questions: from these to tables and a box, and again from where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policy.training import forest
from tests.benchmarks import policies
from tests.policy.training.made import collected
from tests.scripted import HashEmbedder, ScriptedChat


def test_from_collected_questions_to_tables_and_a_box_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models = {"chat": ScriptedChat([]), "embedder": HashEmbedder()}
    monkeypatch.setattr(policies, "open_parts", lambda _settings: models)
    monkeypatch.setattr(forest, "TREES", 5)
    work, box = tmp_path / "work", tmp_path / "box"
    work.mkdir()
    collected(work / "train.duckdb", 52)
    collected(work / "dev.duckdb", 6, seed=1, dataset="jazz")
    command = [str(tmp_path), "--work", str(work), "--method", "forest", "--box", str(box)]
    policies.main(command)
    table = (work / "RESULTS.md").read_text("utf-8")
    for expected in (
        "## all: 6 questions",
        "## jazz: 6",
        "| forest |",
        "| fixed 2 |",
        "| rules |",
        "| oracle |",
    ):
        assert expected in table
    assert str(tmp_path) not in table
    assert "nan" not in table
    assert (box / "boxed-forest" / "manifest.json").is_file()
    # So few questions pass no gate: the rules go on deciding.
    assert json.loads((box / "active.json").read_text("utf-8")) == {"active": "box"}
    capsys.readouterr()
    policies.main(command)
    assert "forest is trained already" in capsys.readouterr().out
