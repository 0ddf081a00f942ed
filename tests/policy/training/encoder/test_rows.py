"""Preferences and batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from policy.training.encoder.rows import Batches, padded, preferences
from policy.training.encoder.scorer import scores
from policy.training.encoder.trainers import preference_loss, sufficiency_loss
from tests.policy.training.encoder.made import seen

NAN = float("nan")


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

    batch = Batches(0)(rows)

    assert batch["input_ids"].tolist() == [[5, 6] + [0] * 14, [7] + [0] * 15, [5, 6] + [0] * 14]
    assert batch["attention_mask"].sum(dim=1).tolist() == [2, 1, 2]
    assert batch["pairs"].tolist() == [[0, 2, 0], [2, 1, 0], [2, 0, 2]]
    assert batch["margin"].tolist() == pytest.approx([1.0, 0.2, 0.4])


def test_a_batch_without_a_preference_has_no_pairs() -> None:
    row = {"chosen_ids": [5], "numbers": [0.5], "sufficient": 1.0, "weight": 1.0}

    batch = Batches(0)([{**row, "better": [], "worse": [], "gaps": []}])

    assert batch["pairs"].shape == (0, 3)


def test_padded_texts_have_a_mask() -> None:
    made = padded([[1, 2, 3], [4]], 9)

    assert made["input_ids"].tolist() == [[1, 2, 3], [4, 9, 9]]
    assert made["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_the_loss_of_preferences_is_the_mean_surprise_and_nothing_without_pairs() -> None:
    rewards = torch.tensor([[1.0], [0.0], [0.0], [0.0]])  # the better of two pairs, then the worse

    loss = preference_loss(rewards, torch.tensor([1.0, 0.0]))

    assert loss.item() == pytest.approx(np.log(2))
    assert preference_loss(torch.zeros(0, 1), torch.zeros(0)).item() == 0.0


def test_the_loss_of_sufficiency_is_a_weighted_mean() -> None:
    loss = sufficiency_loss(
        torch.tensor([0.0, 100.0, 0.0]), torch.tensor([1.0, 1.0, NAN]), torch.tensor([1.0, 3.0, 9.0])
    )

    assert loss.item() == pytest.approx(np.log(2) / 4)


def test_scores_are_differences_from_the_default() -> None:
    outputs = np.array([[0.5, 0.7, 0.1, 0.0], [9.0, 0.7, 0.1, 0.0]])

    made = scores(outputs, [seen(""), seen("", ("REVISE", "FINISH"))])

    assert made.advantages[0].tolist() == pytest.approx([0.0, 0.2, -0.4])
    assert made.advantages[1].tolist() == [-np.inf, pytest.approx(0.6), 0.0]
    assert made.sufficiency.tolist() == [0.5, 0.5]
