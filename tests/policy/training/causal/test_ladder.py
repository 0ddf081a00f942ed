"""Each rung of the ladder on a tiny base: it trains, goes on when interrupted, and is not run twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from policy.decisions.returns import Examples
from policy.decisions.trees import INDEX
from policy.training.causal.base import load_tokenizer, open_base
from policy.training.causal.fitting import Stage, climb, fit
from policy.training.causal.prompt import Method, Prompter
from policy.training.errors import CannotTrain, TrainingFailed
from tests.policy.training.causal.warned import by_the_old_name

pytestmark = by_the_old_name


@pytest.fixture
def stage(tiny: Path, tmp_path: Path) -> Stage:
    """Two steps of whatever rung."""
    base = open_base(tiny)
    return Stage("sft", base, Prompter(load_tokenizer(base.folder)), tmp_path / "work", steps=2)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_each_rung_trains_two_steps_on_top_of_those_below(
    method: Method, stage: Stage, examples: Examples
) -> None:
    told: list[tuple[int, int, float]] = []
    adapter = climb(method, examples, replace(stage, on_step=lambda *step: told.append(step)))
    assert adapter == stage.folder / method / "adapter"
    assert {path.name for path in adapter.iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}
    assert json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"] == "tiny"
    rungs = ["sft"] if method == "sft" else ["sft", "dpo"]
    assert [step[:2] for step in told] == [(1, 2), (2, 2)] * len(rungs)
    assert all(np.isfinite(loss) for _, _, loss in told)
    assert not list(stage.folder.glob("*/checkpoint-*"))


def test_a_rung_that_is_done_is_not_trained_again_unless_it_would_be_another(
    stage: Stage, examples: Examples
) -> None:
    climb("sft", examples, stage)
    told: list[int] = []
    listened = replace(stage, on_step=lambda step, _steps, _loss: told.append(step))
    climb("sft", examples, listened)
    assert told == []
    climb("sft", examples, replace(listened, seed=1))
    assert told == [1, 2]


def test_an_interrupted_training_goes_on_and_ends_where_an_uninterrupted_one_does(
    stage: Stage, examples: Examples, tmp_path: Path
) -> None:
    stage = replace(stage, steps=4, save_steps=2)

    def interrupt(step: int, _steps: int, _loss: float) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        climb("sft", examples, replace(stage, on_step=interrupt))
    assert [path.name for path in (stage.folder / "sft").glob("checkpoint-*")] == ["checkpoint-2"]
    told: list[int] = []
    resumed = climb("sft", examples, replace(stage, on_step=lambda step, _s, _l: told.append(step)))
    assert told == [3, 4]
    whole = climb("sft", examples, replace(stage, folder=tmp_path / "whole"))
    assert _weights(resumed) == pytest.approx(_weights(whole), abs=1e-5)


def test_the_second_rung_goes_on_from_its_own_checkpoint_with_the_first_as_reference(
    stage: Stage, examples: Examples
) -> None:
    stage = replace(stage, steps=3, save_steps=1)

    def interrupt(step: int, _steps: int, _loss: float) -> None:
        if (stage.folder / "dpo").is_dir() and step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        climb("dpo", examples, replace(stage, on_step=interrupt))
    told: list[tuple[int, float]] = []
    climb("dpo", examples, replace(stage, on_step=lambda step, _s, loss: told.append((step, loss))))
    assert [step for step, _ in told] == [2, 3]
    # A policy that equals its reference has the loss ln 2; this one has moved since by a step, not more.
    assert told[0][1] == pytest.approx(np.log(2.0), abs=0.05)


def test_enough_steps_teach_the_rule(tiny: Path, tmp_path: Path, examples: Examples) -> None:
    base = open_base(tiny)
    stage = Stage("sft", base, Prompter(load_tokenizer(base.folder)), tmp_path, steps=60)
    from policy.training.causal.scorer import open_adapter

    scorer = open_adapter("sft", base, climb("sft", examples, stage), 160)
    scores = scorer.score(examples.states)
    finish = scores.advantages[:, INDEX["FINISH"]]
    assert finish[::2].min() > finish[1::2].max()
    assert scores.sufficiency[::2].mean() > scores.sufficiency[1::2].mean()


def test_fit_returns_a_scorer_of_the_rung(tiny: Path, tmp_path: Path, examples: Examples) -> None:
    scorer = fit("sft", examples, base=tiny, work=tmp_path, most_states=8)
    assert scorer.method == "sft"
    assert scorer.score(examples.states[:3]).advantages.shape == (3, 3)


def test_a_loss_that_is_no_number_ends_the_training(
    stage: Stage, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy.training.causal.fitting._SFT_RATE", 1e30)
    with pytest.raises(TrainingFailed, match="not a number"):
        climb("sft", examples, replace(stage, steps=4))
    assert not (stage.folder / "sft" / "adapter").exists()


def test_without_a_state_that_matters_there_is_nothing_to_learn(stage: Stage, examples: Examples) -> None:
    level = replace(examples, values=np.full_like(examples.values, 0.5))
    with pytest.raises(CannotTrain):
        climb("sft", level, stage)


def _weights(adapter: Path) -> dict[str, object]:
    from safetensors.numpy import load_file

    return {
        name: value.ravel().tolist()
        for name, value in load_file(adapter / "adapter_model.safetensors").items()
    }
