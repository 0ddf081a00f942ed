"""What both trainings share: arguments, adapters, checkpoints, going on after an interruption.

A stage has a folder: ``checkpoint-N`` while it runs, ``adapter`` when it is done, ``stage.json`` with what
it was started from. A stage that is run again goes on from its newest checkpoint, or hands back its
adapter; one that was started from something else (other data, another base) begins anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from models.processor import trains_in_bfloat16
from policy.causal import adapters
from policy.causal.base import CausalBase, device
from policy.causal.prompt import Prompter
from policy.training.checkpoints import check_room, newest, telling_full_disk
from policy.training.errors import TrainingFailed

Method: TypeAlias = Literal["sft", "dpo"]
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
