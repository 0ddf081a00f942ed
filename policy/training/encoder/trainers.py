"""TRL's preference trainer for the network, which learns sufficiency along with the actions.

The head is new and learns faster than the adapter, which only adjusts the base.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor, nn
from trl import RewardTrainer

from policy.training.encoder.network import ACTIONS

HEAD_RATE: Final = 5e-4
_DECAY: Final = 0.01


class PreferenceTrainer(RewardTrainer):  # type: ignore[misc]
    """Bradley-Terry loss over pairs of actions, with TRL's margin, plus sufficiency.

    The head learns faster than the adapter.
    """

    model: Any
    args: Any
    optimizer: Any

    def create_optimizer(self, model: Any = None) -> Any:
        """AdamW over the adapter at ``args.learning_rate`` and over the head at `HEAD_RATE`."""
        if self.optimizer is None:
            adapter: list[Tensor] = []
            head: list[Tensor] = []
            for name, parameter in (model or self.model).named_parameters():
                if parameter.requires_grad:
                    (head if "fusion" in name else adapter).append(parameter)
            self.optimizer = torch.optim.AdamW(
                [
                    {"params": adapter, "lr": self.args.learning_rate},
                    {"params": head, "lr": HEAD_RATE},
                ],
                weight_decay=_DECAY,
            )
        return self.optimizer

    def create_model_card(self, *_what: Any, **_more: Any) -> None:
        """Do nothing: the policy's folder has its own card."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """TRL's loss, plus cross-entropy on sufficiency."""
        inputs = dict(inputs)
        weight, sufficient = inputs.pop("weight"), inputs.pop("sufficient")
        if len(inputs["margin"]) and self.accelerator.num_processes == 1:
            loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        else:
            # TRL gathers the rewards of all processes, which must have the same number; and the mean over
            # a batch without preferences would be NaN.
            outputs = model(**inputs)
            loss = preference_loss(outputs.logits, inputs["margin"])
        loss = loss + sufficiency_loss(outputs.outputs[:, ACTIONS], sufficient, weight)
        return (loss, outputs) if return_outputs else loss


def preference_loss(rewards: Tensor, margin: Tensor) -> Tensor:
    """Mean Bradley-Terry loss with margins, 0 without pairs; replaces TRL's where that cannot be used.

    Args:
        rewards: Shape (2 × pairs, 1): of the better actions, then of the worse ones.
        margin: Shape (pairs,): required log-odds.
    """
    better, worse = rewards.squeeze(-1).chunk(2)
    losses = -nn.functional.logsigmoid(better - worse - margin)
    return losses.sum() / max(1, len(margin))


def sufficiency_loss(logits: Tensor, sufficient: Tensor, weight: Tensor) -> Tensor:
    """Mean weighted cross-entropy; NaN marks states with unknown sufficiency. Shapes (n,)."""
    known = ~torch.isnan(sufficient)
    errors = nn.functional.binary_cross_entropy_with_logits(
        logits.float(), torch.where(known, sufficient, 0.0), reduction="none"
    )
    shares = known * weight
    return (errors * shares).sum() / shares.sum().clamp_min(1e-6)
