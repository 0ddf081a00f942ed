"""Made for tests: a policy that says what it is told, the folder of one, and a state to decide in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from agent.decisions.decider import STATE_VERSION, PolicyState
from agent.state import Action
from policy.decisions import INDEX, Floats, Seen, default_action
from policy.serving.folder import Data, Gate, Manifest, write
from policy.serving.scorers import Rule, Scores
from tests.agent.made import observed


class Preferring:
    """Holds one action for better than the default by ``advantage``, wherever it is valid."""

    def __init__(self, action: Action = "FINISH", advantage: float = 0.2, sufficient: float = 0.9) -> None:
        self.action, self.advantage, self.sufficient = action, advantage, sufficient

    def score(self, states: Sequence[Seen]) -> Scores:
        return Scores(np.stack([self._row(s) for s in states]), np.full(len(states), self.sufficient))

    def save(self, folder: Path) -> None:
        save_file(
            {"said": np.array([INDEX[self.action], self.advantage, self.sufficient])},
            folder / "said.safetensors",
        )

    def _row(self, state: Seen) -> Floats:
        row = np.full(len(INDEX), -np.inf)
        for action in state.valid:
            row[INDEX[action]] = self.advantage if action == self.action else -self.advantage
        row[INDEX[default_action(state.valid)]] = 0.0
        return row


def load(folder: Path, *_: object) -> Preferring:
    at, advantage, sufficient = load_file(folder / "said.safetensors")["said"].tolist()
    return Preferring(next(a for a, i in INDEX.items() if i == at), advantage, sufficient)


def manifest(name: str = "forest-20261121-203000", **changes: Any) -> Manifest:
    """One that is valid; ``changes`` replace fields."""
    fields: dict[str, Any] = {
        "name": name,
        "method": "forest",
        "state_version": STATE_VERSION,
        "created": "2026-11-21T20:30:00+00:00",
        "base": None,
        "data": Data(
            sha256="d" * 64,
            questions=500,
            decisions=3000,
            datasets={"musique": 500},
            sources={"evidence": 9},
        ),
        "features": ["step", "held"],
        "rule": Rule(margin=0.05, temperature=0.1),
        "settings": {"cost": 0.05, "seed": 0},
        "metrics": {"utility": 0.41, "interval": [0.01, 0.03]},
        "gate": Gate(passed=True, reason="It is better.", rule="Better than the default.", measures={}),
        "command": "deepthink train-policy --method forest",
    }
    return Manifest(**{**fields, **changes})


def policy(
    root: Path,
    name: str = "forest-20261121-203000",
    save: Callable[[Path], None] | None = None,
    **changes: Any,
) -> Path:
    return write(root, manifest(name, **changes), save or Preferring().save)


def state(**changes: Any) -> PolicyState:
    """A run after the first of three steps, which found its answer; ``changes`` replace fields."""
    after = {"open_questions": ["What halted #1?", "Who did it?"], "fresh": 2, "again": 0}
    return observed(**{**after, **changes})
