"""States as a network's inputs, examples as rows of a data set, and rows as a batch of tensors.

A tree can split a number at a threshold; a linear layer on the raw number cannot. Piecewise linear encoding
adds the thresholds: each number is standardised, and has a column per quantile bin that rises from 0 to 1
within the bin (Gorishniy et al., 2203.05556).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from policy.decisions.returns import Examples
from policy.decisions.trees import INDEX, Floats, Seen
from policy.training.forest import table

Numbers: TypeAlias = npt.NDArray[np.float32]

TOKENS = 192
"""Maximum length of a text; truncation removes the weakest evidence (`agent.decisions.state_text`)."""

BINS = 8
_CLIP = 4.0  # standard deviations: values further out carry no more information
_WIDTHS = 16  # widths are multiples of this: torch caches kernels for each width
_CLEAR = 0.02  # minimum difference between two actions to be a preference and not noise
_MARGIN = 2.0  # required log-odds per unit of quality between a better and a worse action


@dataclass(frozen=True, slots=True)
class Columns:
    """How k named numbers become the inputs of a network.

    Attributes:
        names: Of the numbers, in their order.
        mean: Shape (k,).
        std: Shape (k,), nowhere zero.
        edges: Shape (k, BINS + 1): quantiles of each.
    """

    names: tuple[str, ...]
    mean: Numbers
    std: Numbers
    edges: Numbers

    @classmethod
    def of(cls, states: Sequence[Seen]) -> Columns:
        """Fit to the training states; the names are those of the first state's numbers."""
        names = tuple(states[0].features)
        numbers = table(states, names)
        std = numbers.std(axis=0)
        edges = np.quantile(numbers, np.linspace(0.0, 1.0, BINS + 1), axis=0).T
        return cls(
            names,
            numbers.mean(axis=0).astype(np.float32),
            np.where(std > 0, std, 1.0).astype(np.float32),
            edges.astype(np.float32),
        )

    @property
    def width(self) -> int:
        """Number of inputs per state."""
        return len(self.names) * (1 + BINS) + len(INDEX)

    def encode(self, states: Sequence[Seen]) -> Numbers:
        """Shape (n, width): standardised numbers, their ramps, and which actions are valid.

        Raises:
            KeyError: a state lacks one of the numbers.
        """
        numbers = table(states, self.names)
        standardised = np.clip((numbers - self.mean) / self.std, -_CLIP, _CLIP)
        low, high = self.edges[:, :-1], self.edges[:, 1:]
        widths = np.where(high > low, high - low, 1.0)
        values = numbers[:, :, None]
        # If many states share a value, its bins have no width; the ramp is a step then.
        ramps = np.where(high > low, np.clip((values - low) / widths, 0.0, 1.0), values >= high)
        valid = np.array(
            [[action in state.valid for action in INDEX] for state in states], dtype=np.float32
        )
        return np.concatenate(
            [standardised, ramps.reshape(len(states), -1), valid.reshape(len(states), len(INDEX))], axis=1
        ).astype(np.float32)

    def arrays(self) -> dict[str, Numbers]:
        """The arrays by name, for storage; the names of the numbers are stored separately."""
        return {"columns.mean": self.mean, "columns.std": self.std, "columns.edges": self.edges}

    @classmethod
    def from_arrays(cls, names: Sequence[str], arrays: Mapping[str, Numbers]) -> Columns:
        """The columns that `arrays` stored."""
        return cls(tuple(names), *(arrays[f"columns.{part}"] for part in ("mean", "std", "edges")))


def open_tokenizer(base: Path) -> Any:
    """The base's tokenizer, truncating to `TOKENS`; its methods are thread-safe."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    return tokenizer


def token_ids(tokenizer: Any, states: Sequence[Seen]) -> list[list[int]]:
    """Token ids of each state's text, including special tokens."""
    return [list(e.ids) for e in tokenizer.encode_batch([s.text for s in states])]


def rows(examples: Examples, columns: Columns, tokenizer: Any) -> Any:
    """A `datasets.Dataset` with a row for each state.

    ``chosen_ids`` and ``rejected_ids`` are the column names that TRL's `RewardTrainer` requires. A better
    and a worse action in one state share its text, so it is stored once and the other column is empty;
    ``better``, ``worse`` and ``gaps`` are the state's pairs.
    """
    from datasets import Dataset

    ids = token_ids(tokenizer, examples.states)
    pairs = [preferences(row) for row in examples.values]
    return Dataset.from_dict(
        {
            "chosen_ids": ids,
            "rejected_ids": [[]] * len(ids),
            "length": [len(i) for i in ids],
            "numbers": list(columns.encode(examples.states)),
            "sufficient": examples.sufficient.astype(np.float32),
            "weight": examples.weights.astype(np.float32),
            "better": [[better for better, _, _ in p] for p in pairs],
            "worse": [[worse for _, worse, _ in p] for p in pairs],
            "gaps": [[gap for _, _, gap in p] for p in pairs],
        }
    )


def preferences(values: Floats) -> list[tuple[int, int, float]]:
    """Better action, worse action and difference, for each pair that differs clearly.

    Args:
        values: Shape (3,): return of each action, NaN where unknown.
    """
    pairs: list[tuple[int, int, float]] = []
    for first, second in combinations(range(len(INDEX)), 2):
        gap = float(values[first] - values[second])
        if abs(gap) >= _CLEAR:  # False for NaN
            pairs.append((first, second, gap) if gap > 0 else (second, first, -gap))
    return pairs


class Batches:
    """Collates rows: pads the texts, stacks the numbers and the targets, indexes the pairs.

    Args:
        padding: Token id for padding.
    """

    def __init__(self, padding: int) -> None:
        self._padding = padding

    def __call__(self, batch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A batch of tensors by name."""
        import torch

        tensors = {
            **padded([row["chosen_ids"] for row in batch], self._padding, _WIDTHS),
            "numbers": torch.tensor(np.array([row["numbers"] for row in batch], dtype=np.float32)),
            "sufficient": torch.tensor([row["sufficient"] for row in batch]),
            "weight": torch.tensor([row["weight"] for row in batch]),
        }
        pairs = [
            (index, better, worse)
            for index, row in enumerate(batch)
            for better, worse in zip(row["better"], row["worse"], strict=True)
        ]
        gaps = [gap for row in batch for gap in row["gaps"]]
        tensors["pairs"] = torch.tensor(pairs, dtype=torch.long).reshape(-1, 3)
        tensors["margin"] = torch.tensor(gaps, dtype=torch.float32) * _MARGIN
        return tensors


def padded(ids: Sequence[Sequence[int]], padding: int, multiple: int = 1) -> dict[str, Any]:
    """``input_ids`` and ``attention_mask`` of shape (n, longest), rounded up to a ``multiple``."""
    import torch

    longest = -(-max(len(i) for i in ids) // multiple) * multiple
    table = np.full((len(ids), longest), padding, dtype=np.int64)
    mask = np.zeros_like(table)
    for at, tokens in enumerate(ids):
        table[at, : len(tokens)] = tokens
        mask[at, : len(tokens)] = 1
    return {"input_ids": torch.from_numpy(table), "attention_mask": torch.from_numpy(mask)}
