"""The two trainers: transformers' for values, TRL's for preferences, on the same network.

Both learn sufficiency beside the actions. The head is new and learns faster than the adapter, which only
bends what the base already knows.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import Trainer
from trl import RewardTrainer

from policy.encoder.network import ACTIONS

HEAD_RATE: Final = 5e-4
_DECAY: Final = 0.01
_HUBER: Final = 0.2  # beyond this error of an advantage the loss grows linearly
_ADVANTAGES: Final = 5.0  # weight: advantages are tenths, their squares hundredths


class _HeadFirst:
    """What both trainers share: a learning rate for the adapter, another for the head; nothing printed."""

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
        """None: the policy's folder has a card of its own."""


class ValueTrainer(_HeadFirst, Trainer):  # type: ignore[misc]
    """Regression of each action's advantage over the default one."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Huber on the advantages that are known, cross-entropy on sufficiency, both weighted."""
        del num_items_in_batch
        inputs = dict(inputs)
        advantages, weight = inputs.pop("advantages"), inputs.pop("weight")
        sufficient, default = inputs.pop("sufficient"), inputs.pop("default")
        outputs = model(**inputs)
        actions = outputs.outputs[:, :ACTIONS]
        loss = _ADVANTAGES * advantage_loss(actions, advantages, default, weight)
        loss = loss + sufficiency_loss(outputs.outputs[:, ACTIONS], sufficient, weight)
        return (loss, outputs) if return_outputs else loss


class PreferenceTrainer(_HeadFirst, RewardTrainer):  # type: ignore[misc]
    """Bradley and Terry's loss over pairs of actions, with the margin TRL knows, and sufficiency."""

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
            # TRL gathers the rewards of all processes, which have to be equally many there; the mean over
            # a batch in which no state prefers anything would be NaN.
            outputs = model(**inputs)
            loss = preference_loss(outputs.logits, inputs["margin"])
        loss = loss + sufficiency_loss(outputs.outputs[:, ACTIONS], sufficient, weight)
        return (loss, outputs) if return_outputs else loss


def preference_loss(rewards: Tensor, margin: Tensor) -> Tensor:
    """Bradley and Terry's mean loss with margins, 0 for no pairs; TRL's, where that cannot be used.

    Args:
        rewards: Shape (2 × pairs, 1): of the better actions, then of the worse ones.
        margin: Shape (pairs,): log-odds asked for.
    """
    better, worse = rewards.squeeze(-1).chunk(2)
    losses = -nn.functional.logsigmoid(better - worse - margin)
    return losses.sum() / max(1, len(margin))


def advantage_loss(outputs: Tensor, wanted: Tensor, default: Tensor, weight: Tensor) -> Tensor:
    """Mean Huber loss of the advantages that are known.

    Args:
        outputs: Shape (n, 3); an action's advantage is its output less the default action's.
        wanted: Shape (n, 3), NaN where unknown.
        default: Shape (n,): column of the default action, whose own advantage is 0 by definition.
        weight: Shape (n,).
    """
    column = default.unsqueeze(-1)
    predicted = outputs.float() - outputs.float().gather(1, column)
    known = (~torch.isnan(wanted)).scatter(1, column, False)
    errors = nn.functional.huber_loss(
        predicted, torch.where(known, wanted, 0.0), reduction="none", delta=_HUBER
    )
    shares = known * weight.unsqueeze(-1)
    return (errors * shares).sum() / _HUBER / shares.sum().clamp_min(1e-6)


def sufficiency_loss(logits: Tensor, sufficient: Tensor, weight: Tensor) -> Tensor:
    """Mean weighted cross-entropy; NaN marks states of which nobody knows. Shapes (n,)."""
    known = ~torch.isnan(sufficient)
    errors = nn.functional.binary_cross_entropy_with_logits(
        logits.float(), torch.where(known, sufficient, 0.0), reduction="none"
    )
    shares = known * weight
    return (errors * shares).sum() / shares.sum().clamp_min(1e-6)
