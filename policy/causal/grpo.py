"""Third rung: group-relative policy optimisation of a one-token bandit, the tabled returns as rewards.

Letters are sampled, and each is paid what its action is worth in that state. The rewards are not divided by
their spread within a state, so that a state in which little is at stake teaches little. (Shao et al.,
arXiv 2402.03300; without the division, arXiv 2503.20783.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agent.state import ACTIONS
from policy.causal.base import device
from policy.causal.prompt import LETTERS
from policy.causal.stages import Stage

_LEARNING_RATE: Final = 5e-5
_SAMPLES: Final = {"cpu": 4, "cuda": 8}  # letters of a state
_STATES: Final = {"cpu": 2, "cuda": 8}  # in an optimiser step


def train(stage: Stage, rows: Sequence[tuple[str, list[float]]]) -> Path:
    """Train ``stage.before`` further on state texts with the reward of each action.

    Returns the folder of the adapter. Columns of the rewards are as `policy.trees.INDEX`.

    Raises:
        TrainingFailed: the loss is not a number, or there is no room for a checkpoint.
        ModelMissing, ModelError: the base cannot be loaded.
    """
    if not stage.begin(rows):
        return stage.adapter
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    data = Dataset.from_dict(
        {
            "prompt": [stage.prompter.text(text) for text, _ in rows],
            "returns": [values for _, values in rows],
        }
    )
    samples = _SAMPLES[device()]
    trainer = GRPOTrainer(
        model=stage.model(),
        args=GRPOConfig(
            **stage.arguments(samples * _STATES[device()], _LEARNING_RATE),
            num_generations=samples,
            max_completion_length=1,
            scale_rewards="none",
            beta=0.0,
        ),
        reward_funcs=paid,
        train_dataset=data,
        processing_class=stage.prompter.tokenizer,
    )
    return stage.run(trainer)


def paid(completions: Sequence[str], returns: Sequence[Sequence[float]], **_: Any) -> list[float]:
    """What each sampled text earns: its letter's reward, and the state's worst for what is no letter."""
    known = list(LETTERS.values())
    assert len(known) == len(ACTIONS)
    return [
        values[known.index(text)] if text in known else min(values)
        for text, values in zip(completions, returns, strict=True)
    ]
