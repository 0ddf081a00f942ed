"""The data sheet, from examples worked by hand; requests as commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.protocols import ModelMissing
from policy.training.material import sheet
from policy.training.request import TrainingRequest, base_model
from tests.policy.training.encoder.made import examples


def test_the_sheet_tells_what_is_learned_from() -> None:
    training, held_out = examples(40), examples(8)

    rows = sheet(training, held_out, {"evidence": 48}, 0.05)

    assert rows["questions, made"] == "10 to learn from, 2 held out"
    assert rows["decisions"] == "40 to learn from, 8 held out"
    assert rows["quality from"] == "evidence 48"
    assert rows["evidence complete"] == "50% of the decisions"
    # FINISH is better in half of the states; REVISE in a quarter, and not valid in every fifth.
    assert rows["FINISH is better than the default"].startswith("in 20 of 40")
    assert rows["REVISE is better than the default"].startswith("in 8 of 32")
    assert "CONTINUE is better than the default" not in rows


def test_a_request_knows_its_command_without_anybodys_folders() -> None:
    request = TrainingRequest("forest", (Path("/somewhere/some store.duckdb"),), cost=0.1, seed=7)

    assert request.command == (
        "deepthink train-policy --method forest --from 'some store.duckdb' --cost 0.1 --seed 7"
    )
    assert TrainingRequest().command == "deepthink train-policy --method reward"


def test_the_forest_needs_no_base_and_others_say_which_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "none"))

    assert base_model(TrainingRequest("forest")) is None
    with pytest.raises(ModelMissing, match="all-minilm-l6-v2 is not on this machine"):
        base_model(TrainingRequest("reward"))
    assert base_model(TrainingRequest("reward", base=str(tmp_path))) == (str(tmp_path), tmp_path)
