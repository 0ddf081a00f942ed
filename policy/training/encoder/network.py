"""The network: pooled text and numbers of a state, fused late, give the value of each action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertPreTrainedModel
from transformers.modeling_outputs import ModelOutput

ACTIONS = 3
_HIDDEN = 96
_DROPOUT = 0.1


class Fusion(nn.Module):  # type: ignore[misc]
    """Text vector and numbers in, values of three actions and a sufficiency logit out.

    The numbers also have a direct path to the outputs, past the layers shared with the text.

    Args:
        text: Length of the text vector.
        width: Of the encoded numbers, `policy.training.encoder.scorer.Columns.width`.
    """

    def __init__(self, text: int, width: int) -> None:
        super().__init__()
        self.read = nn.Sequential(nn.LayerNorm(text), nn.Linear(text, _HIDDEN))
        self.count = nn.Sequential(nn.Linear(width, _HIDDEN), nn.GELU(), nn.Dropout(_DROPOUT))
        self.join = nn.Sequential(
            nn.Linear(2 * _HIDDEN, _HIDDEN),
            nn.GELU(),
            nn.Dropout(_DROPOUT),
            nn.Linear(_HIDDEN, ACTIONS + 1),
        )
        self.direct = nn.Linear(width, ACTIONS + 1)

    def forward(self, text: Tensor, numbers: Tensor) -> Tensor:
        """Shape (n, 4): the actions in the order of `policy.decisions.trees.INDEX`, then sufficiency."""
        joined: Tensor = self.join(torch.cat([self.read(text), self.count(numbers)], dim=-1))
        return joined + self.direct(numbers)


@dataclass
class FusedOutput(ModelOutput):  # type: ignore[misc]
    """The network's outputs for n states, and for pairs of actions if requested.

    Attributes:
        logits: Shape (n, 4) as `Fusion.forward` gives it; with ``pairs`` the rewards of the better actions
            and then those of the worse ones, shape (2 × pairs, 1), as TRL's `RewardTrainer` reads them.
        outputs: Shape (n, 4), always.
    """

    logits: Tensor | None = None
    outputs: Tensor | None = None


class FusedEncoder(BertPreTrainedModel):  # type: ignore[misc]
    """BERT and `Fusion`, in the form that the trainers of transformers and TRL expect.

    Args:
        config: Of the base, with ``fused_width``: the width of the numbers.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.fusion = Fusion(config.hidden_size, config.fused_width)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        numbers: Tensor,
        pairs: Tensor | None = None,
        margin: Tensor | None = None,
        use_cache: bool | None = None,
    ) -> FusedOutput:
        """Outputs for n states.

        Args:
            input_ids: Shape (n, tokens).
            attention_mask: Likewise.
            numbers: Shape (n, width).
            pairs: Shape (pairs, 3): row of the state, column of the better action, of the worse one. The
                state is encoded once, however many of its actions are compared.
            margin: TRL passes it to every model; only the loss uses it.
            use_cache: Likewise; an encoder has no cache.
        """
        del margin, use_cache
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        outputs = self.fusion(pooled(hidden, attention_mask), numbers)
        if pairs is None:
            return FusedOutput(logits=outputs, outputs=outputs)
        state, better, worse = pairs.unbind(dim=1)
        rewards = torch.cat([outputs[state, better], outputs[state, worse]])
        return FusedOutput(logits=rewards.unsqueeze(-1), outputs=outputs)


def pooled(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    """The mean over the tokens, as in the training of the base."""
    mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * mask).sum(dim=1) / mask.sum(dim=1)


def build_untrained(base: Path, width: int) -> FusedEncoder:
    """The base's weights with an untrained head; seed torch before."""
    config = BertConfig.from_pretrained(str(base), local_files_only=True)
    config.fused_width = width
    config.num_labels = 1  # RewardTrainer checks this; the network does not use it
    config._name_or_path = str(base)  # otherwise a name on the hub, which PEFT would look up
    model = FusedEncoder(config)
    model.bert = read_base(base)
    for layer in model.fusion.modules():
        if isinstance(layer, nn.Linear):
            layer.reset_parameters()  # the base's own initialisation is too small for inputs this wide
    for last in (model.fusion.join[-1], model.fusion.direct):
        nn.init.zeros_(last.weight)  # no action beats the default before training
        nn.init.zeros_(last.bias)
    return model


def read_base(base: Path) -> Any:
    """The base model, in single precision."""
    return BertModel.from_pretrained(
        str(base), add_pooling_layer=False, local_files_only=True, dtype=torch.float32
    )


def merge(bert: Any, adapter: Mapping[str, Tensor], scale: float) -> None:
    """Add a low-rank adapter to ``bert``, in place: W + scale · B A (Hu et al., 2106.09685).

    Args:
        adapter: As PEFT stores it, relative to ``bert``.
        scale: PEFT's ``lora_alpha / r``.

    Raises:
        KeyError, RuntimeError: the adapter belongs to another base.
    """
    weights = dict(bert.named_parameters())
    with torch.no_grad():
        for name, a in adapter.items():
            if ".lora_A." in name:
                b = adapter[name.replace(".lora_A.", ".lora_B.")]
                target = name.removeprefix("base_model.model.").replace(".lora_A.", ".")
                weights[target].add_(scale * (b @ a))
