"""The loss of a group: supporting passages against its negatives, and each passage for itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class GroupLoss(nn.Module):  # type: ignore[misc] # torch is Any to mypy
    """Softmax cross-entropy of each supporting passage against the negatives, plus binary cross-entropy.

    Args:
        model: A `CrossEncoder` with one output.
        single_weight: Weight of the binary cross-entropy.
        pairs: How many pairs go through the model at once, sorted by length so that little is padded.
    """

    def __init__(self, model: Any, single_weight: float, pairs: int) -> None:
        super().__init__()
        self.model = model
        self.single_weight = single_weight
        self.pairs = pairs

    def forward(
        self, inputs: list[Any], labels: list[Tensor], prompt: str | None = None, task: str | None = None
    ) -> Tensor:
        """The mean over the groups; ``inputs`` are the questions and the lists of passages."""
        questions, passages = inputs
        flat = [(q, p) for q, given in zip(questions, passages, strict=True) for p in given]
        logits = self._logits(flat)
        losses: list[Tensor] = []
        for scores, supports in zip(logits.split([len(given) for given in passages]), labels, strict=True):
            losses.append(group_loss(scores, supports.bool(), self.single_weight))
        return torch.stack(losses).mean()

    def _logits(self, flat: list[tuple[str, str]]) -> Tensor:
        order = sorted(range(len(flat)), key=lambda i: len(flat[i][1]))
        parts: list[Tensor] = []
        for start in range(0, len(order), self.pairs):
            tokens = self.model.preprocess([flat[i] for i in order[start : start + self.pairs]])
            parts.append(self.model(tokens)["scores"].view(-1).float())
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(parts)[back]


def group_loss(scores: Tensor, supports: Tensor, single_weight: float) -> Tensor:
    """Of one group: ``scores`` are logits of shape (passages,), ``supports`` booleans of that shape."""
    against = torch.logsumexp(scores[~supports], dim=0)
    won = torch.logaddexp(scores[supports], against) - scores[supports]
    single = nn.functional.binary_cross_entropy_with_logits(scores, supports.float())
    return won.mean() + single_weight * single
