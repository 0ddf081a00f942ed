"""The state's numbers as a small network likes them: standardised, and each again as a ramp over its range.

A tree cuts a number where it matters; a linear layer on the bare number cannot. Piecewise linear encoding
gives it the cuts: a column per quantile bin that rises from 0 to 1 within the bin.

Source: Gorishniy et al., On Embeddings for Numerical Features in Tabular Deep Learning (2203.05556).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policy.decisions.trees import INDEX, Seen

Numbers: TypeAlias = npt.NDArray[np.float32]

BINS = 8
_CLIP = 4.0  # standard deviations: what lies further out says no more


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
        """Fitted to the training states; the numbers' names are the first state's."""
        names = tuple(states[0].features)
        table = _table(names, states)
        std = table.std(axis=0)
        edges = np.quantile(table, np.linspace(0.0, 1.0, BINS + 1), axis=0).T
        return cls(
            names,
            table.mean(axis=0).astype(np.float32),
            np.where(std > 0, std, 1.0).astype(np.float32),
            edges.astype(np.float32),
        )

    @property
    def width(self) -> int:
        """Inputs of a state."""
        return len(self.names) * (1 + BINS) + len(INDEX)

    def encode(self, states: Sequence[Seen]) -> Numbers:
        """Shape (n, width): standardised numbers, their ramps, and which actions are valid.

        Raises:
            KeyError: a state lacks one of the numbers.
        """
        table = _table(self.names, states)
        plain = np.clip((table - self.mean) / self.std, -_CLIP, _CLIP)
        low, high = self.edges[:, :-1], self.edges[:, 1:]
        wide = np.where(high > low, high - low, 1.0)
        x = table[:, :, None]
        # Where many states share a value its bins have no width; there the ramp is a step.
        ramps = np.where(high > low, np.clip((x - low) / wide, 0.0, 1.0), x >= high)
        valid = np.array([[action in s.valid for action in INDEX] for s in states], dtype=np.float32)
        return np.concatenate(
            [plain, ramps.reshape(len(states), -1), valid.reshape(len(states), len(INDEX))], axis=1
        ).astype(np.float32)

    def arrays(self) -> dict[str, Numbers]:
        """For storing; the names are kept elsewhere."""
        return {"columns.mean": self.mean, "columns.std": self.std, "columns.edges": self.edges}

    @classmethod
    def from_arrays(cls, names: Sequence[str], arrays: Mapping[str, Numbers]) -> Columns:
        """As `arrays` stored them."""
        return cls(tuple(names), *(arrays[f"columns.{part}"] for part in ("mean", "std", "edges")))


def _table(names: Sequence[str], states: Sequence[Seen]) -> Numbers:
    rows = [[s.features[name] for name in names] for s in states]
    return np.array(rows, dtype=np.float32).reshape(len(states), len(names))
