"""The trainer on the real MiniLM, for a few steps."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.state import ACTIONS
from policy.training import encoder, fitting, forest
from policy.training.encoder import EncoderScorer
from policy.training.fitting import fit, without_deprecation_warnings
from policy.training.progress import Trained, TrainingCancelled, TrainingEvent, TrainingFailed, Watch
from tests.policy.training.encoder.made import examples

pytestmark = pytest.mark.model

Saved = tuple[EncoderScorer, Path]
"""A trained encoder and the folder with it."""


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """The teacher and the batches may be small."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(forest, "TREES", 5)
        patched.setattr(fitting, "_BATCH", 4)
        yield


class Watching(Watch):
    """Remembers the steps, and stops after one."""

    def __init__(self, stop_after: int = 0) -> None:
        self.events: list[TrainingEvent] = []
        super().__init__(self.events.append, threading.Event(), [], 0.05)
        self._stop_after = stop_after

    @property
    def steps(self) -> list[int]:
        return [event.step for event in self.events if isinstance(event, Trained)]

    def stepped(self, step: int, steps: int, loss: float) -> None:
        super().stepped(step, steps, loss)
        if step == self._stop_after:
            self.cancel.set()


@pytest.fixture(scope="module")
def trained(minilm: Path, small: None, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """An encoder after four steps, and its folder."""
    folder = tmp_path_factory.mktemp("policy")
    work = tmp_path_factory.mktemp("work")
    scorer = fit(examples(), base=minilm, work=work, steps=4, watch=Watching())
    scorer.save(folder)
    return scorer, folder


def test_what_is_read_from_the_folder_scores_the_same(trained: Saved, minilm: Path) -> None:
    scorer, folder = trained
    assert sorted(p.name for p in folder.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "head.safetensors",
    ]
    assert sum(p.stat().st_size for p in folder.iterdir()) < 3 * 2**20
    states = examples().states
    before, after = scorer.score(states), encoder.read(folder, minilm).score(states)
    assert np.array_equal(before.advantages, after.advantages)
    assert np.array_equal(before.sufficiency, after.sufficiency)
    assert before.advantages.shape == (len(states), len(ACTIONS))


def test_the_merged_adapter_is_what_peft_makes_of_it(trained: Saved, minilm: Path) -> None:
    import torch
    from peft import PeftModel
    from safetensors.torch import load_file

    folder = trained[1]
    with without_deprecation_warnings():
        theirs = PeftModel.from_pretrained(encoder.read_base(minilm), str(folder)).merge_and_unload()
    config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    ours = encoder.read_base(minilm)
    encoder.merge(ours, load_file(folder / "adapter_model.safetensors"), config["lora_alpha"] / config["r"])
    changed = 0
    for (name, a), (_, b), (_, c) in zip(
        ours.named_parameters(),
        theirs.named_parameters(),
        encoder.read_base(minilm).named_parameters(),
        strict=True,
    ):
        assert torch.allclose(a, b, atol=1e-6), name
        changed += not torch.equal(a, c)
    assert changed == 3 * 6  # query, key, value and three dense layers of three layers


def test_a_cancelled_training_goes_on_where_it_was(trained: Saved, minilm: Path, tmp_path: Path) -> None:
    data, resuming = examples(), Watching()
    with pytest.raises(TrainingCancelled, match="step 2 of 4"):
        fit(data, base=minilm, work=tmp_path, steps=4, watch=Watching(stop_after=2))
    resumed = fit(data, base=minilm, work=tmp_path, steps=4, watch=resuming)
    assert resuming.steps == [3, 4]
    # The same data, order and random numbers: only rounding tells the two apart.
    assert np.allclose(
        resumed.score(data.states).sufficiency, trained[0].score(data.states).sufficiency, atol=0.02
    )


def test_a_loss_that_is_no_number_ends_the_training(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "taught", lambda some, _seed: some)
    data = examples()
    spoilt = replace(data, sufficient=np.full_like(data.sufficient, np.inf))
    with pytest.raises(TrainingFailed, match="not a number at step 1"):
        fit(spoilt, base=minilm, work=tmp_path, steps=2, watch=Watching())
    assert not list(tmp_path.glob("checkpoint-*"))
