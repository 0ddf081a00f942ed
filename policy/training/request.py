"""The options of a training."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from models.catalogue import ALL_MINILM_L6_V2, entry
from models.fetch import checked
from models.protocols import ModelMissing
from policy.decisions.returns import COST
from policy.serving.manifest import Method
from policy.training.progress import UnusedOption
from traces.paths import existing_path

DEFAULT: Final[Method] = "reward"
"""The encoder that the protocol favours (`tests/benchmarks/results/policies.md`)."""

Activation = Literal["gate", "never", "force"]


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A training, as the user requests it.

    Attributes:
        sources: Collected stores (``.duckdb``) or exported traces (Parquet); the user's own if empty.
        base: Catalogue name, folder or file of the base model; "" for the method's default.
        cost: Of a research step, in units of quality.
        name: Of the policy; "" for one generated from method and time.
        seed: Of all random numbers.
        epochs: Passes over the examples; None for the method's default. Encoders only.
        steps: Optimiser steps; takes precedence over ``epochs``. Encoders only.
        activation: Whether it becomes active: if it passes the gate, never, or always.
    """

    method: Method = DEFAULT
    sources: tuple[Path, ...] = ()
    base: str = ""
    cost: float = COST
    name: str = ""
    seed: int = 0
    epochs: float | None = None
    steps: int | None = None
    activation: Activation = "gate"

    def __post_init__(self) -> None:
        """Raise `UnusedOption` if a forest is to have a base, passes or steps."""
        if self.method == "forest" and self.base:
            raise UnusedOption(
                "A forest adapts no base model.", "Leave --base out, or name another --method."
            )
        if self.method == "forest" and (self.epochs is not None or self.steps is not None):
            raise UnusedOption(
                "A forest is grown in one go, not in passes or steps.",
                "Leave --epochs and --steps out, or name another --method.",
            )

    @property
    def command(self) -> str:
        """The command line for it; files by name, wherever they are."""
        default = TrainingRequest(method=self.method)
        words = ["deepthink", "train-policy", "--method", self.method]
        for source in self.sources:
            words += ["--from", source.name]
        for option in ("base", "cost", "name", "seed", "epochs", "steps"):
            value = getattr(self, option)
            if value != getattr(default, option):
                words += [f"--{option}", f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join(words)


def base_model(request: TrainingRequest) -> tuple[str, Path] | None:
    """Name and path of the base that the method adapts; None for the forest, which has none.

    A folder or file that is not in the catalogue goes by its path, so that it is found again.

    Raises:
        ModelMissing: it is not on this machine.
    """
    if request.method == "forest":
        return None
    name = request.base or ALL_MINILM_L6_V2.name
    path = existing_path(name)
    if path is not None:
        return str(path.resolve()), path.resolve()
    model_path = checked(entry(name))
    if model_path is None:
        raise ModelMissing(
            f"The base model {name} is not on this machine.", f"Fetch it: “deepthink models pull {name}”."
        )
    return name, model_path
