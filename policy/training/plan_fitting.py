"""Fits the planner: supervised fine-tuning of a LoRA adapter, the loss on the plan's tokens alone.

The trainer is TRL's; started again with the same folder it resumes from its last checkpoint. A GPU is used
where there is one. Two savings make it bearable without: the vocabulary's layer, a third of a 0.5B model's
work, is computed where there is a plan to learn only, and rows of like length are computed together. Such
rows are alike in kind too, so several groups, drawn at random, make one optimiser step.

What a plan comes to is decided at a few tokens, the first and the last of each line. They weigh more.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

from agent.steps.plan_text import Plan, PlanRequest, look_up, prompt, reply
from policy.training.adapters import (
    Base,
    avoid_cudnn_attention,
    fill,
    load_tokenizer,
    load_weights,
    write_adapter,
)
from policy.training.progress import Watch

Lesson: TypeAlias = tuple[PlanRequest, Plan]
"""A request, and the plan that people would accept for it."""

WRITTEN: Final = Path(__file__).with_name("plans.jsonl")
"""Questions with their plans, synthetic, written one by one (CC0)."""
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


def lesson(row: Mapping[str, Any]) -> Lesson:
    """The lesson in a line of `WRITTEN`, or of other data of its form."""
    question, history = row["question"], [(asked, answer) for asked, answer in row["history"]]
    request = PlanRequest(question, history, list(row["collections"].items()), row["findings"])
    if row["kind"] == "direct":
        return request, Plan("talk", question)
    if row["kind"] == "clarify":
        return request, Plan("ask", row["standalone"])
    # A question with nothing before it is complete in itself: rewritten, a small model garbles it.
    question = row["standalone"] if history else question
    steps = [look_up(step["ask"], step["in"]) for step in row["steps"]]
    if len(steps) == 1 and not (history or request.findings):
        steps = [look_up(question, steps[0]["tool"])]
    return request, Plan("search", question, steps)


def written() -> list[Lesson]:
    """The lessons in `WRITTEN`."""
    with WRITTEN.open(encoding="utf-8") as lines:
        return [lesson(json.loads(line)) for line in lines]


def fit(
    lessons: Sequence[Lesson],
    base: Base,
    work: Path,
    *,
    onto: Path | None = None,
    rate: float = RATE,
    groups: int = GROUPS,
    group: int = GROUP,
    watch: Watch | None = None,
) -> Path:
    """Train an adapter on one pass over ``lessons``; returns its folder, in PEFT's form.

    ``work`` gets the checkpoints and the finished adapter. ``onto`` is an exported adapter to start from.
    An optimiser step takes ``groups`` of ``group`` lessons each; ``watch`` gets the steps.

    Raises `TrainingFailed`, or `TrainingCancelled` if the watch stopped it: the next call resumes.
    """
    adapter = work / ADAPTER
    if adapter.is_dir():
        return adapter
    import torch
    from datasets import Dataset
    from peft import LoraConfig, get_peft_model
    from trl import SFTConfig, SFTTrainer

    from policy.training.fitting import Reporting, run, usual_options

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
    rows = [_row(*lesson, tokenizer) for lesson in lessons]
    torch.manual_seed(0)
    weights = load_weights(base.folder)
    avoid_cudnn_attention()
    shape = LoraConfig(task_type="CAUSAL_LM", r=RANK, lora_alpha=2 * RANK, target_modules="all-linear")
    model = get_peft_model(weights, shape)
    if onto:
        fill(model, onto, base.gguf)
    arguments = SFTConfig(
        **usual_options(work),
        per_device_train_batch_size=group,
        gradient_accumulation_steps=groups,
        learning_rate=rate,
        warmup_steps=0.05,
        num_train_epochs=1,
        activation_checkpointing=False,
        seed=0,
        save_steps=_SAVE_STEPS,
    )
    trainer = PlanTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        data_collator=lambda batch: _padded(batch, tokenizer.pad_token_id),
        processing_class=tokenizer,
    )
    trainer.order = _order([len(row["input_ids"]) for row in rows], group)
    trainer.model_accepts_loss_kwargs = False  # then it divides the loss by the groups of a step
    trainer.mean_weight = sum(sum(row["weights"]) for row in rows) / len(rows)
    run(trainer, work, Reporting(watch) if watch else None)
    fresh = work / ".unfinished"
    write_adapter(trainer.accelerator.unwrap_model(trainer.model), base, fresh)
    fresh.rename(adapter)
    return adapter


def _row(request: PlanRequest, plan: Plan, tokenizer: Any) -> dict[str, list[float]]:
    read = tokenizer(prompt(request), add_special_tokens=False)["input_ids"]
    written = tokenizer(reply(plan, request), add_special_tokens=False)["input_ids"]
    written.append(tokenizer.eos_token_id)
    breaks = [True, *("\n" in tokenizer.decode([token]) for token in written[:-1]), True]
    weights = [DECIDES if before or after else 1.0 for before, after in pairwise(breaks)]
    return {
        "input_ids": [*read, *written],
        "labels": [_IGNORED] * len(read) + written,
        "weights": [0.0] * len(read) + weights,
    }


def _order(lengths: Sequence[int], group: int) -> list[int]:
    """All rows, in groups of like length, the groups in a random order."""
    draw = random.Random(0)
    ranked = sorted(range(len(lengths)), key=lambda row: (lengths[row], draw.random()))
    groups = [ranked[at : at + group] for at in range(0, len(ranked), group)]
    draw.shuffle(groups)
    return [row for group in groups for row in group]


def _padded(rows: Sequence[Mapping[str, list[float]]], pad: int) -> dict[str, Any]:
    """Rows as a batch, padded on the left, so that the plans stand at the end."""
    import torch

    longest = math.ceil(max(len(row["input_ids"]) for row in rows) / 8) * 8

    def filled(columns: Iterable[list[float]], value: float) -> Any:
        return torch.tensor([[value] * (longest - len(column)) + column for column in columns])

    return {
        "input_ids": filled((row["input_ids"] for row in rows), pad),
        "labels": filled((row["labels"] for row in rows), _IGNORED),
        "weights": filled((row["weights"] for row in rows), 0.0),
        "attention_mask": filled(([1] * len(row["input_ids"]) for row in rows), 0),
    }
