"""The trainer on the real MiniLM, for a few steps."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from policy.training import encoder, fitting, forest
from policy.training.fitting import fit, without_deprecation_warnings
from policy.training.progress import (
    HeldOut,
    Trained,
    TrainingCancelled,
    TrainingEvent,
    TrainingFailed,
    Watch,
)
from tests.policy.training.encoder.made import examples
from tests.policy.trees import random_trees
from traces import paths

pytestmark = pytest.mark.model


@pytest.fixture
def base() -> Path:
    folder = paths.models_dir() / "all-minilm-l6-v2"
    if not folder.is_dir():
        pytest.skip("MiniLM is not on this machine")
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The teacher may be small."""
    monkeypatch.setattr(forest, "TREES", 5)


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


def test_two_steps_a_folder_and_the_same_scores_from_it(base: Path, tmp_path: Path) -> None:
    events: list[TrainingEvent] = []
    trees = random_trees(0, 3)
    # The numbers that the network reads are those of the examples.
    for node in (node for tree in trees for node in tree.nodes.values()):
        node.seen.features["top_1"] = 0.0  # type: ignore[index]
    data = examples()

    watch = Watch(events.append, threading.Event(), trees, 0.05)
    trained = fit(data, base=base, work=tmp_path / "work", steps=2, watch=watch)
    folder = tmp_path / "policy"
    folder.mkdir()
    trained.save(folder)
    again = encoder.read(folder, base)

    assert [event.step for event in events if isinstance(event, Trained)] == [1, 2]
    assert [event.step for event in events if isinstance(event, HeldOut)] == [0, 2]
    assert sorted(p.name for p in folder.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "head.safetensors",
    ]
    assert sum(p.stat().st_size for p in folder.iterdir()) < 3 * 2**20
    before, after = trained.score(data.states), again.score(data.states)
    assert np.array_equal(before.advantages, after.advantages)
    assert np.array_equal(before.sufficiency, after.sufficiency)
    assert before.advantages.shape == (len(data), 3)


def test_the_merged_adapter_is_what_peft_makes_of_it(base: Path, tmp_path: Path) -> None:
    import torch
    from peft import PeftModel

    from policy.training.encoder import merge, read_base

    fit(examples(), base=base, work=tmp_path / "work", steps=4, watch=Watching()).save(tmp_path)
    from safetensors.torch import load_file

    with without_deprecation_warnings():
        theirs = PeftModel.from_pretrained(read_base(base), str(tmp_path)).merge_and_unload()
    config = json.loads((tmp_path / "adapter_config.json").read_text("utf-8"))
    ours = read_base(base)
    merge(ours, load_file(tmp_path / "adapter_model.safetensors"), config["lora_alpha"] / config["r"])

    changed = 0
    for (name, a), (_, b), (_, c) in zip(
        ours.named_parameters(), theirs.named_parameters(), read_base(base).named_parameters(), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-6), name
        changed += not torch.equal(a, c)
    assert changed == 3 * 6  # query, key, value and three dense layers of three layers


def test_a_cancelled_training_goes_on_where_it_stopped(base: Path, tmp_path: Path) -> None:
    data, resuming = examples(), Watching()
    with pytest.raises(TrainingCancelled, match="step 2 of 4"):
        fit(data, base=base, work=tmp_path / "a", steps=4, watch=Watching(stop_after=2))
    resumed = fit(data, base=base, work=tmp_path / "a", steps=4, watch=resuming)
    straight = fit(data, base=base, work=tmp_path / "b", steps=4, watch=Watching())

    assert resuming.steps == [3, 4]
    # The same data, order and random numbers: only rounding tells the two apart.
    assert np.allclose(
        resumed.score(data.states).sufficiency, straight.score(data.states).sufficiency, atol=0.02
    )


def test_a_loss_that_is_no_number_ends_the_training(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "taught", lambda some, _seed: some)
    data = examples()
    spoilt = replace(data, sufficient=np.full_like(data.sufficient, np.inf))

    with pytest.raises(TrainingFailed, match="not a number at step 1"):
        fit(spoilt, base=base, work=tmp_path, steps=2, watch=Watching())

    assert not list(tmp_path.glob("checkpoint-*"))
