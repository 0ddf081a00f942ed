"""Supervised fine-tuning on the letter of each state's best action (SFT), then preferences (DPO).

DPO compares one letter with another in the same state; its reference is SFT's adapter, of which TRL keeps
a frozen copy. (Rafailov et al., arXiv 2305.18290; on decision tokens alone, DeepRAG, arXiv 2502.01142.)

Each stage has a folder: ``checkpoint-N`` while it runs, ``adapter`` when it is done, ``stage.json`` with
what it was started from. Run again, it resumes from its newest checkpoint or returns its adapter; started
from something else (other data, another base) it begins anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from agent.state import Action
from models.processor import trains_in_bfloat16
from policy.decisions.returns import Examples
from policy.training.causal import adapters, rows
from policy.training.causal.base import CausalBase, device, load_tokenizer, open_base
from policy.training.causal.prompt import MOST_TOKENS, Method, Prompter
from policy.training.causal.scorer import CausalScorer, open_adapter
from policy.training.checkpoints import check_room, newest, telling_full_disk
from policy.training.errors import CannotTrain, TrainingFailed

OnStep: TypeAlias = Callable[[int, int, float], None]
"""Told each optimiser step: its number from 1, how many there are, the loss."""

ADAPTER: Final = "adapter"
_STARTED: Final = "stage.json"
_ROOM: Final = (
    256 * 2**20
)  # bytes of three checkpoints: adapter and the optimiser's two moments, with some air


@dataclass(frozen=True, slots=True)
class Stage:
    """One rung of the ladder, ready to run.

    Attributes:
        method: Which.
        base: What is adapted.
        prompter: Of the base's tokenizer.
        folder: Of checkpoints and the finished adapter.
        before: The adapter of the rung below, to start from; None to start with a fresh one.
        seed: Of the adapter's start, the order, the sampling.
        steps: Optimiser steps to stop after; -1 for one pass over the rows.
        save_steps: Optimiser steps between checkpoints.
        on_step: Told each step.
    """

    method: Method
    base: CausalBase
    prompter: Prompter
    folder: Path
    before: Path | None = None
    seed: int = 0
    steps: int = -1
    save_steps: int = 25
    on_step: OnStep | None = None

    @property
    def adapter(self) -> Path:
        """The finished adapter; there only when it is."""
        return self.folder / ADAPTER

    def begin(self, rows: Sequence[Any]) -> bool:
        """Make the folder fit for training on ``rows``; False if the adapter is there already.

        Raises:
            TrainingFailed: there is no room for checkpoints.
        """
        before = adapters.digest(self.before) if self.before else ""
        settings = [self.method, self.base.sha256, self.prompter.most, self.seed, self.steps, before]
        started = {"sha256": hashlib.sha256(json.dumps([settings, list(rows)]).encode()).hexdigest()}
        note = self.folder / _STARTED
        if not note.is_file() or json.loads(note.read_text(encoding="utf-8")) != started:
            if int(os.environ.get("LOCAL_RANK", "0")) == 0:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.mkdir(parents=True)
                note.write_text(json.dumps(started), encoding="utf-8")
                check_room(self.folder, _ROOM)
            return True
        return not (self.adapter / adapters.CONFIG).is_file()

    def arguments(self, batch: int, learning_rate: float) -> dict[str, Any]:
        """Arguments of every trainer.

        Args:
            batch: States in an optimiser step of one process.
            learning_rate: At its highest; for an adapter, ten times a full model's.
        """
        return {
            "output_dir": str(self.folder),
            "per_device_train_batch_size": batch,
            "learning_rate": learning_rate,
            "lr_scheduler_type": "cosine",
            "warmup_steps": 0.05,
            "num_train_epochs": 1,
            "max_steps": self.steps,
            "bf16": trains_in_bfloat16(),
            "use_cpu": device() == "cpu",
            "activation_checkpointing": False,
            "seed": self.seed,
            "logging_steps": 1,
            "logging_nan_inf_filter": False,
            "save_steps": self.save_steps,
            "save_total_limit": 2,
            "dataloader_pin_memory": device() != "cpu",
            "report_to": [],
            "disable_tqdm": True,
        }

    def model(self) -> Any:
        """The base with the adapter to train: a fresh one, or a copy of the one before.

        Raises:
            ModelMissing, ModelError: the base cannot be loaded.
        """
        if self.before is not None:
            return adapters.to_train(self.base, self.before)
        return adapters.fresh(self.base, self.seed)

    def run(self, trainer: Any) -> Path:
        """Train, from the newest checkpoint if there is one; the folder of the adapter.

        Raises:
            TrainingFailed: the loss is not a number, or there is no room for a checkpoint.
        """
        from transformers import PrinterCallback

        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(_listening(self.on_step))
        with telling_full_disk(self.folder):
            last = newest(self.folder)
            trainer.train(resume_from_checkpoint=str(last) if last else None)
            if trainer.is_world_process_zero():
                self._keep(trainer.accelerator.unwrap_model(trainer.model))
        trainer.accelerator.wait_for_everyone()
        return self.adapter

    def _keep(self, model: Any) -> None:
        """Write the adapter, whole or not at all; its checkpoints are needed no more."""
        fresh = self.folder / ".unfinished"
        shutil.rmtree(fresh, ignore_errors=True)
        adapters.write(model, self.base, fresh)
        shutil.rmtree(self.adapter, ignore_errors=True)
        fresh.rename(self.adapter)
        for checkpoint in self.folder.glob("checkpoint-*"):
            shutil.rmtree(checkpoint)


def _listening(on_step: OnStep | None) -> Any:
    from transformers import TrainerCallback

    class Listening(TrainerCallback):  # type: ignore[misc] # transformers is not followed
        """Passes the loss of each step on, and ends a training whose loss is none."""

        def on_log(
            self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any
        ) -> None:
            loss = (logs or {}).get("loss")
            if loss is None:
                return
            if not math.isfinite(loss):
                raise TrainingFailed(
                    f"The loss of step {state.global_step} is not a number.",
                    "Train again with another --seed; the active policy stays as it is.",
                )
            if on_step is not None and state.is_world_process_zero:
                on_step(state.global_step, state.max_steps, float(loss))

    return Listening()


CPU_STATES: Final = 1_200
"""A quarter of an hour of SFT on two quiet cores."""

_DPO_SHARE: Final = 0.4
"""Of the states that SFT reads, those that DPO reads: each costs it three times as much."""
_SFT_BATCH: Final = 8
_SFT_RATE: Final = 2e-4
_DPO_BATCH: Final = 4  # pairs, and each is two sequences
_DPO_RATE: Final = 5e-5
_BETA: Final = 0.1


def fit(
    method: Method,
    examples: Examples,
    *,
    base: Path | None,
    work: Path,
    seed: int = 0,
    on_step: OnStep | None = None,
    most_states: int | None = None,
    steps: int = -1,
) -> CausalScorer:
    """Train a causal policy, the rungs below ``method`` first unless ``work`` has them.

    Interrupted at any moment and called again with the same arguments, it goes on from the last checkpoint.
    On two quiet cores, SFT on SmolLM2 reads one or two states a second.

    Args:
        method: The rung to reach.
        examples: States with the returns of their actions.
        base: A GGUF file or a model folder; None for the default one.
        work: Folder of checkpoints and of each rung's adapter.
        seed: Of everything that is drawn.
        on_step: Told each optimiser step of the rung at work.
        most_states: That SFT reads, those with most at stake drawn first; DPO reads 40 in a
            hundred of them. By default `CPU_STATES` without a GPU, and all with one.
        steps: Optimiser steps of each rung to stop after; -1 for one pass.

    Raises:
        CannotTrain: there is no state in which it matters what is done.
        TrainingFailed: the loss is not a number, or there is no room for a checkpoint.
        ModelMissing, ModelError: the base is missing or cannot be loaded.
    """
    ground = open_base(base)
    stage = Stage("sft", ground, Prompter(load_tokenizer(ground.folder)), work, None, seed, steps)
    if most_states is None and device() == "cpu":
        most_states = CPU_STATES
    adapter = climb(method, examples, replace(stage, on_step=on_step), most_states)
    return open_adapter(method, ground, adapter, MOST_TOKENS)


def climb(method: Method, examples: Examples, stage: Stage, most_states: int | None = None) -> Path:
    """As `fit`, from a stage whose folder holds one folder for each rung; the last rung's adapter.

    Raises:
        As `fit`.
    """
    chosen = rows.choices(examples, stage.seed, most_states)
    if not chosen:
        raise CannotTrain(
            "In none of the decisions on record is it known that one action is better than another.",
            "Collect some: `deepthink collect --help`.",
        )
    adapter = _sft(replace(stage, method="sft", folder=stage.folder / "sft"), rows.letters(chosen))
    if method == "sft":
        return adapter
    some = chosen[: max(1, round(_DPO_SHARE * len(chosen)))]
    second = replace(stage, method="dpo", folder=stage.folder / "dpo", before=adapter)
    return _dpo(second, rows.pairs(some, stage.seed))


def _sft(stage: Stage, states: Sequence[tuple[str, Action]]) -> Path:
    """Train an adapter on state texts and their best actions; the loss is on the letter alone."""
    if not stage.begin(states):
        return stage.adapter
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    prompts = [stage.prompter.ids(text) for text, _ in states]
    answers = [stage.prompter.letters[action] for _, action in states]
    data = Dataset.from_dict(
        {
            "input_ids": [[*ids, letter] for ids, letter in zip(prompts, answers, strict=True)],
            "labels": [[-100] * len(ids) + [letter] for ids, letter in zip(prompts, answers, strict=True)],
        }
    )
    return stage.run(
        SFTTrainer(
            model=stage.model(),
            args=SFTConfig(**stage.arguments(_SFT_BATCH, _SFT_RATE), max_length=None),
            train_dataset=data,
            processing_class=stage.prompter.tokenizer,
        )
    )


def _dpo(stage: Stage, pairs: Sequence[tuple[str, Action, Action]]) -> Path:
    """Train ``stage.before`` further on state texts with a better and a worse action each."""
    if not stage.begin(pairs):
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
            "prompt_ids": [stage.prompter.ids(text) for text, _, _ in pairs],
            "chosen_ids": [[letters[better]] for _, better, _ in pairs],
            "rejected_ids": [[letters[worse]] for _, _, worse in pairs],
        }
    )
    return stage.run(
        LetterTrainer(
            model=stage.model(),
            args=DPOConfig(**stage.arguments(_DPO_BATCH, _DPO_RATE), beta=_BETA, max_length=None),
            train_dataset=data,
            processing_class=stage.prompter.tokenizer,
        )
    )
