"""What the network reads and learns from: columns, preferences, losses, the teacher; and checkpoints."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path

import numpy as np
import pytest
import torch

from agent.state import ACTIONS
from policy.decisions import INDEX, Examples
from policy.training import forest
from policy.training.encoder import BINS, Columns, scores
from policy.training.fitting import (
    collated,
    newest,
    preference_loss,
    preferences,
    reporting_full_disk,
    sufficiency_loss,
    taught,
)
from policy.training.progress import TrainingFailed
from tests.policy.training.encoder.made import examples, seen

NAN = float("nan")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 10)


def test_a_number_is_standardised_and_rises_through_its_bins() -> None:
    states = [seen("", held=float(value), top_1=1.0) for value in range(BINS + 1)]
    columns = Columns.of(states)
    encoded = columns.encode(states)
    assert encoded.shape == (BINS + 1, columns.width)
    held = encoded[:, 2 : 2 + BINS]
    assert held[0].tolist() == [0.0] * BINS
    assert held[3].tolist() == [1.0] * 3 + [0.0] * (BINS - 3)
    assert encoded[:, 0].mean() == pytest.approx(0.0, abs=1e-6)
    assert encoded[:, 1].tolist() == [0.0] * (BINS + 1)  # a constant says nothing, and divides by nothing


def test_each_two_actions_that_differ_are_a_pair_and_noise_is_none() -> None:
    pairs = preferences(np.array([0.5, 0.51, 0.9]))
    assert [pair[:2] for pair in pairs] == [(2, 0), (2, 1)]
    assert [pair[2] for pair in pairs] == pytest.approx([0.4, 0.39])
    assert [pair[:2] for pair in preferences(np.array([0.5, NAN, 0.2]))] == [(0, 2)]


def test_a_batch_pads_and_numbers_its_pairs() -> None:
    row = {"chosen_ids": [5, 6], "numbers": [0.5], "sufficient": 1.0, "weight": 1.0}
    rows = [
        {**row, "better": [2], "worse": [0], "gaps": [0.5]},
        {**row, "chosen_ids": [7], "better": [], "worse": [], "gaps": []},
        {**row, "better": [1, 0], "worse": [0, 2], "gaps": [0.1, 0.2]},
    ]
    batch = collated(rows, 0)
    assert batch["input_ids"].tolist() == [[5, 6] + [0] * 14, [7] + [0] * 15, [5, 6] + [0] * 14]
    assert batch["attention_mask"].sum(dim=1).tolist() == [2, 1, 2]
    assert batch["pairs"].tolist() == [[0, 2, 0], [2, 1, 0], [2, 0, 2]]
    assert batch["margin"].tolist() == pytest.approx([1.0, 0.2, 0.4])


def test_the_losses_are_the_mean_surprise_and_a_weighted_mean() -> None:
    nothing = torch.zeros(0)
    loss = preference_loss(torch.tensor([1.0, 0.0]), torch.zeros(2), torch.tensor([1.0, 0.0]))
    assert loss.item() == pytest.approx(np.log(2))
    assert preference_loss(nothing, nothing, nothing).item() == 0.0
    known = torch.tensor([1.0, 1.0, NAN])
    loss = sufficiency_loss(torch.tensor([0.0, 100.0, 0.0]), known, torch.tensor([1.0, 3.0, 9.0]))
    assert loss.item() == pytest.approx(np.log(2) / 4)


def test_scores_are_differences_from_the_default() -> None:
    outputs = np.array([[0.5, 0.7, 0.1, 0.0], [9.0, 0.7, 0.1, 0.0]])
    plan, never = [0, 1, 2], [-np.inf] * 3
    made = scores(outputs, [seen("", ACTIONS), seen("", ("REVISE", "FINISH"))], plan)
    assert made.advantages[0].tolist() == pytest.approx([0.0, 0.2, -0.4, *never])
    assert made.advantages[1].tolist() == [-np.inf, pytest.approx(0.6), 0.0, *never]
    assert made.sufficiency.tolist() == [0.5, 0.5]
    with_asking = np.insert(outputs, 3, 0.9, axis=1)
    made = scores(with_asking, [seen("", ACTIONS), seen("", ("REVISE", "FINISH"))], [*plan, INDEX["ASK"]])
    assert made.advantages[0].tolist() == pytest.approx([0.0, 0.2, -0.4, -np.inf, -np.inf, 0.4])
    assert made.advantages[1].tolist() == [-np.inf, pytest.approx(0.6), 0.0, *never]


def test_sufficiency_moves_halfway_and_what_nobody_knows_stays_unknown() -> None:
    data = examples(80)
    sufficient = np.where(np.arange(80) % 7 == 0, np.nan, data.sufficient)
    learned = taught(dataclasses.replace(data, sufficient=sufficient))
    known = ~np.isnan(sufficient)
    assert np.array_equal(~np.isnan(learned.sufficient), known)
    assert (np.abs(learned.sufficient - sufficient)[known] <= 0.5).all()
    assert (learned.sufficient != sufficient)[known].any()
    assert ((learned.sufficient >= 0) & (learned.sufficient <= 1))[known].all()
    assert learned.values is data.values


def test_it_never_teaches_a_question_from_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    data = examples(80)
    fitted: list[set[str]] = []
    fit = forest.fit

    def spying(some: Examples, *, seed: int) -> forest.Forest:
        fitted.append(set(some.questions))
        return fit(some, seed=seed)

    monkeypatch.setattr(forest, "fit", spying)
    taught(data)
    assert len(fitted) == 4
    for question in set(data.questions):
        assert sum(question not in questions for questions in fitted) == 1


def checkpoint(folder: Path, step: int, state: str | None) -> Path:
    made = folder / f"checkpoint-{step}"
    made.mkdir()
    if state is not None:
        (made / "trainer_state.json").write_text(state, encoding="utf-8")
    return made


def test_the_newest_whole_one_by_number_and_torn_ones_are_removed(tmp_path: Path) -> None:
    checkpoint(tmp_path, 9, "{}")
    whole = checkpoint(tmp_path, 25, '{"global_step": 25}')
    torn = checkpoint(tmp_path, 100, '{"global_st')
    empty = checkpoint(tmp_path, 125, None)
    assert newest(tmp_path) == whole
    assert not torn.exists()
    assert not empty.exists()
    assert newest(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("[enforce fail at inline_container.cc] . PytorchStreamWriter failed writing file"),
        RuntimeError("SafetensorError: I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_told_as_one(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match="no space for the checkpoint"), reporting_full_disk(tmp_path):
        raise error


def test_other_failures_are_left_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shape"), reporting_full_disk(tmp_path):
        raise RuntimeError("shape mismatch")
