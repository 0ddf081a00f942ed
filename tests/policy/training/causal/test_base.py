"""Bases out of GGUF files; and each rung on the real one."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.catalogue import SMOLLM2_135M
from models.fetch import installed
from models.protocols import ModelError, ModelMissing
from policy.decisions.returns import Examples
from policy.training.causal.base import default_base, load_tokenizer, load_weights, open_base
from policy.training.causal.fitting import Stage, climb
from policy.training.causal.prompt import Prompter
from policy.training.causal.scorer import open_adapter
from tests.policy.training.causal.warned import by_the_old_name

pytestmark = by_the_old_name


def test_a_gguf_file_is_converted_once_and_goes_by_its_own_sha256(tiny: Path, models: Path) -> None:
    base = open_base(tiny)
    assert base.sha256 == hashlib.sha256(tiny.read_bytes()).hexdigest()
    assert (base.name, base.gguf) == ("tiny", tiny)
    assert base.folder.parent == models / ".converted"
    made = (base.folder / "model.safetensors").stat().st_mtime_ns
    assert open_base(tiny) == base
    assert (base.folder / "model.safetensors").stat().st_mtime_ns == made
    assert not list((models / ".converted").glob(".unfinished*"))


def test_the_converted_model_is_no_quantised_one(tiny: Path) -> None:
    model = load_weights(open_base(tiny).folder, exact=True)
    assert not getattr(model, "is_quantized", False)
    assert getattr(model.config, "quantization_config", None) is None


def test_a_folder_is_a_base_by_its_weights(tiny: Path) -> None:
    folder = open_base(tiny).folder
    base = open_base(folder)
    assert (base.folder, base.gguf) == (folder, None)
    assert base.sha256 == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_a_file_that_is_not_there_and_one_that_is_no_model(tiny: Path, models: Path) -> None:
    with pytest.raises(ModelMissing, match="no base model"):
        open_base(models / "absent.gguf")
    (models / "wrong.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(ModelError, match=r"wrong\.gguf"):
        open_base(models / "wrong.gguf")
    assert not list((models / ".converted").glob(".unfinished*"))


def test_without_a_base_the_way_to_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path))
    with pytest.raises(ModelMissing) as caught:
        default_base()
    assert SMOLLM2_135M.name in caught.value.way_out


@pytest.mark.model
def test_each_rung_takes_two_steps_on_the_real_base(examples: Examples, tmp_path: Path) -> None:
    place = installed(SMOLLM2_135M)
    if place is None:
        pytest.skip(f"{SMOLLM2_135M.name} is not here: `deepthink models pull {SMOLLM2_135M.name}`")
    base = open_base(place)
    assert base.name == SMOLLM2_135M.name
    prompter = Prompter(load_tokenizer(base.folder))
    told: list[float] = []
    stage = Stage("sft", base, prompter, tmp_path, steps=2)
    adapter = climb("dpo", examples, replace(stage, on_step=lambda _n, _of, loss: told.append(loss)))
    assert len(told) == 4
    assert np.isfinite(told).all()
    logits = open_adapter("dpo", base, adapter, prompter.most).logits([examples.states[0].text])
    assert np.isfinite(logits).all()
