"""Trains the planner: supervised fine-tuning of a LoRA adapter, the loss on the plan's tokens alone.

The trainer is TRL's; started again with the same folder it resumes from its last checkpoint. A GPU is used
where there is one. Two savings make it bearable without: the vocabulary's layer, a third of a 0.5B model's
work, is computed where there is a plan to learn only, and rows of like length are computed together. Such
rows are alike in kind too, so several groups, drawn at random, make one optimiser step.

What a plan comes to is decided at a few tokens, the first and the last of each line. They weigh more.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from agent.steps.lookups import prompt, reply
from models.library_loading import trains_in_bfloat16
from tests.benchmarks.adapters import (
    Base,
    avoid_cudnn_attention,
    load_tokenizer,
    load_weights,
    write_adapter,
)
from tests.benchmarks.planner.data import Example

RANK: Final = 16
GROUP: Final = 12
"""Rows that are computed together."""
GROUPS: Final = 2
"""Of an optimiser step."""
RATE: Final = 4e-4
DECIDES: Final = 4.0
"""Weight of a token that begins or ends a line."""
ADAPTER: Final = "adapter"
_IGNORED: Final = -100
_SAVE_STEPS: Final = 50


def train(examples: Sequence[Example], base: Base, work: Path) -> Path:
    """Train an adapter on ``examples``, one pass in their order; returns its folder, in PEFT's form.

    ``work`` gets the checkpoints and the finished adapter.
    """
    adapter = work / ADAPTER
    if adapter.is_dir():
        return adapter
    import torch
    from datasets import Dataset
    from peft import LoraConfig, get_peft_model
    from trl import SFTConfig, SFTTrainer

    from policy.training.fitting import newest

    class PlanTrainer(SFTTrainer):  # type: ignore[misc] # trl is not followed
        """Computes the vocabulary's layer for the positions that have a label, and weighs them."""

        mean_weight = 1.0
        order: Sequence[int] = ()

        def _get_train_sampler(self, train_dataset: Any = None) -> Any:
            return self.order

        def compute_loss(
            self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, **_: Any
        ) -> Any:
            labels = inputs["labels"]
            first = int((labels != _IGNORED).any(dim=0).nonzero()[0])  # rows are padded on the left
            out = model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                # Positions, not their number: a slice would be copied, and the layer with it.
                logits_to_keep=torch.arange(first - 1, labels.shape[1] - 1, device=labels.device),
                use_cache=False,
            )
            wanted, weights = labels[:, first:], inputs["weights"][:, first:]
            learned = wanted != _IGNORED
            losses = torch.nn.functional.cross_entropy(
                out.logits[learned].float(), wanted[learned], reduction="none"
            )
            weights = weights[learned]
            # By the mean weight of all rows, not of this group: a row counts the same in any company.
            loss = (losses * weights).sum() / (len(labels) * self.mean_weight)
            return (loss, out) if return_outputs else loss

    tokenizer = load_tokenizer(base.folder)
    rows = [_row(example, tokenizer) for example in examples]
    torch.manual_seed(0)
    weights = load_weights(base.folder)
    avoid_cudnn_attention()
    shape = LoraConfig(task_type="CAUSAL_LM", r=RANK, lora_alpha=2 * RANK, target_modules="all-linear")
    model = get_peft_model(weights, shape)
    arguments = SFTConfig(
        output_dir=str(work),
        per_device_train_batch_size=GROUP,
        gradient_accumulation_steps=GROUPS,
        learning_rate=RATE,
        lr_scheduler_type="cosine",
        warmup_steps=0.05,
        num_train_epochs=1,
        bf16=trains_in_bfloat16(),
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=False,
        activation_checkpointing=False,
        max_length=None,
        seed=0,
        logging_steps=5,
        save_steps=_SAVE_STEPS,
        remove_unused_columns=False,
        save_total_limit=2,
        dataloader_pin_memory=torch.cuda.is_available(),
        report_to=[],
        disable_tqdm=True,
    )
    trainer = PlanTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        data_collator=_Padded(tokenizer.pad_token_id),
        processing_class=tokenizer,
    )
    trainer.order = _order([len(row["input_ids"]) for row in rows])
    trainer.model_accepts_loss_kwargs = False  # then it divides the loss by the groups of a step
    trainer.mean_weight = sum(sum(row["weights"]) for row in rows) / len(rows)
    last = newest(work)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    fresh = work / ".unfinished"
    write_adapter(trainer.accelerator.unwrap_model(trainer.model), base, fresh)
    fresh.rename(adapter)
    return adapter


def _row(example: Example, tokenizer: Any) -> dict[str, list[float]]:
    read = tokenizer(prompt(example.request), add_special_tokens=False)["input_ids"]
    written = tokenizer(reply(example.plan, example.request), add_special_tokens=False)["input_ids"]
    written.append(tokenizer.eos_token_id)
    breaks = [True, *("\n" in tokenizer.decode([token]) for token in written[:-1]), True]
    weights = [DECIDES if before or after else 1.0 for before, after in pairwise(breaks)]
    return {
        "input_ids": [*read, *written],
        "labels": [_IGNORED] * len(read) + written,
        "weights": [0.0] * len(read) + weights,
    }


def _order(lengths: Sequence[int]) -> list[int]:
    """All rows, in groups of like length, the groups in a random order."""
    draw = random.Random(0)
    ranked = sorted(range(len(lengths)), key=lambda row: (lengths[row], draw.random()))
    groups = [ranked[at : at + GROUP] for at in range(0, len(ranked), GROUP)]
    draw.shuffle(groups)
    return [row for group in groups for row in group]


class _Padded:
    """Rows as a batch, padded on the left, so that the plans stand at the end."""

    def __init__(self, pad: int) -> None:
        self._pad = pad

    def __call__(self, rows: Sequence[dict[str, list[float]]]) -> dict[str, Any]:
        import torch

        longest = math.ceil(max(len(row["input_ids"]) for row in rows) / 8) * 8

        def filled(name: str, value: float) -> Any:
            return torch.tensor([[value] * (longest - len(row[name])) + row[name] for row in rows])

        mask = [[0] * (longest - len(row["input_ids"])) + [1] * len(row["input_ids"]) for row in rows]
        return {
            "input_ids": filled("input_ids", self._pad),
            "labels": filled("labels", _IGNORED),
            "weights": filled("weights", 0.0),
            "attention_mask": torch.tensor(mask),
        }
