"""First rung: supervised fine-tuning on the letter of each state's best action; the loss is on it alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agent.state import Action
from policy.causal.stages import Stage

_BATCH: Final = 8
_LEARNING_RATE: Final = 2e-4


def train(stage: Stage, rows: Sequence[tuple[str, Action]]) -> Path:
    """Train an adapter on state texts and their best actions; the folder of the adapter.

    Raises:
        TrainingFailed: the loss is not a number, or there is no room for a checkpoint.
        ModelMissing, ModelError: the base cannot be loaded.
    """
    if not stage.begin(rows):
        return stage.adapter
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    prompts = [stage.prompter.ids(text) for text, _ in rows]
    answers = [stage.prompter.letters[action] for _, action in rows]
    data = Dataset.from_dict(
        {
            "input_ids": [[*ids, letter] for ids, letter in zip(prompts, answers, strict=True)],
            "labels": [[-100] * len(ids) + [letter] for ids, letter in zip(prompts, answers, strict=True)],
        }
    )
    trainer = SFTTrainer(
        model=stage.model(),
        args=SFTConfig(**stage.arguments(_BATCH, _LEARNING_RATE), max_length=None),
        train_dataset=data,
        processing_class=stage.prompter.tokenizer,
    )
    return stage.run(trainer)
