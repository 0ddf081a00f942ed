"""A tiny base, and examples with a rule that can be learned from their texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agent.state import Action
from policy.decisions.returns import Examples
from policy.decisions.trees import Seen
from tests.policy.training.causal.tiny import write_tiny


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder of the tests' own, in which the tiny base is converted once."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def tiny(models: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny base."""
    monkeypatch.setenv("DEEPTHINK_MODELS", str(models))
    file = models / "tiny.gguf"
    return file if file.is_file() else write_tiny(file)


@pytest.fixture
def examples() -> Examples:
    """Thirty states: those that say ``all held`` had better finish, the others go on."""
    states, values = [], []
    for number in range(30):
        held = number % 2 == 0
        valid: tuple[Action, ...] = (
            ("CONTINUE", "REVISE", "FINISH") if number % 3 else ("CONTINUE", "FINISH")
        )
        states.append(Seen(f"question: {number}\n{'all held' if held else 'nothing yet'}", {}, valid))
        values.append([0.6, 0.4 if number % 3 else np.nan, 0.9 if held else 0.2])
    returns = np.array(values)
    return Examples(
        states,
        [f"q{number}" for number in range(30)],
        ["made up"] * 30,
        returns,
        returns - returns[:, :1],
        (returns[:, 2] > 0.5).astype(np.float64),
        np.ones(30),
    )
