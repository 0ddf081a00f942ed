"""Second rung: direct preference optimisation, one letter against another in the same state.

The reference is the adapter of the first rung, of which TRL keeps a frozen copy. (Rafailov et al.,
arXiv 2305.18290; on decision tokens alone, DeepRAG, arXiv 2502.01142.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agent.state import Action
from policy.causal.stages import Stage

_BATCH: Final = 4  # pairs, and each is two sequences
_LEARNING_RATE: Final = 5e-5
_BETA: Final = 0.1


def train(stage: Stage, rows: Sequence[tuple[str, Action, Action]]) -> Path:
    """Train ``stage.before`` further on state texts with a better and a worse action each.

    Returns the folder of the adapter.

    Raises:
        TrainingFailed: the loss is not a number, or there is no room for a checkpoint.
        ModelMissing, ModelError: the base cannot be loaded.
    """
    if not stage.begin(rows):
        return stage.adapter
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    class LetterTrainer(DPOTrainer):  # type: ignore[misc] # trl is not followed
        """Takes tokens as they are: TRL would put an end-of-text token after each letter."""

        def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
            return dataset

    letters = stage.prompter.letters
    data = Dataset.from_dict(
        {
            "prompt_ids": [stage.prompter.ids(text) for text, _, _ in rows],
            "chosen_ids": [[letters[better]] for _, better, _ in rows],
            "rejected_ids": [[letters[worse]] for _, _, worse in rows],
        }
    )
    trainer = LetterTrainer(
        model=stage.model(),
        args=DPOConfig(**stage.arguments(_BATCH, _LEARNING_RATE), beta=_BETA, max_length=None),
        train_dataset=data,
        processing_class=stage.prompter.tokenizer,
    )
    return stage.run(trainer)
