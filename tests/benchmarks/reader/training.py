"""Training the reader: the whole network, by transformers' Trainer, for as long as it is given.

The learning rate follows the clock, not the steps: it warms up, then falls to nothing at the end of
``minutes``, so that a training ends annealed however fast the machine is. What was trained so far and the
time it took are in the work folder; the same call goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.library_loading import trains_in_bfloat16
from policy.training.adapters import avoid_cudnn_attention
from tests.benchmarks.reader.network import network
from tests.benchmarks.reader.rows import NOTHING, collate, load

ROWS: Final = "rows.pickle"
BASE: Final = "base.safetensors"
TRAINED: Final = "reader.safetensors"
SEEN: Final = "seen.json"

_HEADS_RATE = 5e-4
_WARM_UP = 0.06
_CLOCK = "clock.json"


@dataclass(frozen=True, slots=True)
class _Pace:
    """How the training is cut up: a processor sees too little to overfit, a GPU each example often."""

    rate: float  # of learning, for what was taught before; new heads have their own
    groups: int  # in one pass
    passes: int  # that make a batch
    dropout: float
    save_steps: int
    workers: int  # that put batches together


_PROCESSOR = _Pace(rate=1.2e-4, groups=7, passes=2, dropout=0.0, save_steps=150, workers=0)
_GPU = _Pace(rate=2.5e-4, groups=128, passes=1, dropout=0.1, save_steps=2000, workers=6)


def taught(reader: Any) -> Any:
    """The network together with its losses: a module whose ``forward`` takes a batch of `rows.collate`.

    The losses are those of one example, averaged over the batch: of a question the cross-entropy of "does
    it answer", half of the cross-entropy of start and end (``[CLS]`` where the answer is not here), and,
    where its passages are in the batch, the cross-entropy of the right one among them; of a claim the
    cross-entropy of its verdict.
    """
    import torch
    from torch import nn
    from torch.nn import functional

    class Taught(nn.Module):  # type: ignore[misc] # torch is Any to mypy
        def __init__(self) -> None:
            super().__init__()
            self.reader = reader

        def forward(
            self,
            input_ids: Any,
            attention_mask: Any,
            token_type_ids: Any,
            allowed: Any,
            start: Any,
            end: Any,
            answers: Any,
            verdict: Any,
            group: Any,
        ) -> dict[str, Any]:
            scores = [one.float() for one in self.reader(input_ids, attention_mask, token_type_ids)]
            asked = (answers != NOTHING).float()
            answering = functional.binary_cross_entropy_with_logits(
                scores[0], answers.clamp(min=0).float(), reduction="none"
            )
            spans = sum(
                -(share * torch.log_softmax(found.masked_fill(~allowed, -1e4), -1)).sum(-1)
                for share, found in ((start, scores[1]), (end, scores[2]))
            )
            same = (group[:, None] == group[None, :]) & (answers != NOTHING)[None, :]
            among = scores[0] - torch.logsumexp(scores[0][None, :].masked_fill(~same, -1e4), -1)
            ranked = -among * (answers == 1).float()
            claims = functional.cross_entropy(scores[3], verdict.clamp(min=0), reduction="none")
            each = asked * (answering + 0.5 * spans + ranked) + (1 - asked) * claims
            return {"loss": each.mean()}

    return Taught()


def train(work: Path, minutes: float) -> None:
    """Train from ``rows.pickle`` and ``base.safetensors`` in ``work``; leaves ``reader.safetensors`` there.

    Started by ``torch.distributed.run`` it shares the work among its processes. ``minutes`` include
    earlier calls.
    """
    import torch
    from safetensors.numpy import load_file
    from safetensors.torch import save_file
    from transformers import Trainer, TrainingArguments
    from transformers.trainer_pt_utils import LengthGroupedSampler
    from transformers.trainer_utils import get_last_checkpoint

    on_gpu = torch.cuda.is_available()
    pace = _GPU if on_gpu else _PROCESSOR
    avoid_cudnn_attention()
    rows = load(work / ROWS)
    clock = _clock(work / _CLOCK, minutes)
    weights = load_file(work / BASE)
    attention = "sdpa" if on_gpu else "eager"
    model = taught(network(weights, dropout=pace.dropout, attention=attention))
    model.reader.bert.embeddings.word_embeddings.requires_grad_(False)

    class ReaderTrainer(Trainer):  # type: ignore[misc]
        def _get_train_sampler(self, *_: Any) -> Any:
            lengths = [max(len(row.ids) for row in group) for group in rows]
            return LengthGroupedSampler(self.args.train_batch_size, lengths=lengths)

        def create_optimizer(self, *_: Any) -> Any:
            if self.optimizer is None:
                self.optimizer: Any = torch.optim.AdamW(
                    _parameters(model, pace.rate), weight_decay=0.01, fused=True
                )
            return self.optimizer

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            if self.lr_scheduler is None:
                self.lr_scheduler: Any = torch.optim.lr_scheduler.LambdaLR(
                    optimizer or self.optimizer, lambda _: clock.factor()
                )
            return self.lr_scheduler

    trainer = ReaderTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(work),
            num_train_epochs=100,  # the clock ends it
            per_device_train_batch_size=pace.groups,
            gradient_accumulation_steps=pace.passes,
            bf16=trains_in_bfloat16(),
            use_cpu=not on_gpu,
            ddp_backend="gloo" if not on_gpu and torch.distributed.is_torchelastic_launched() else None,
            ddp_find_unused_parameters=False,
            seed=0,
            logging_steps=20,
            save_strategy="steps",
            save_steps=pace.save_steps,
            save_total_limit=2,
            remove_unused_columns=False,
            dataloader_num_workers=pace.workers,
            dataloader_pin_memory=on_gpu,
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=rows,
        data_collator=collate,
        callbacks=[clock],
    )
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(work)))
    if trainer.is_world_process_zero():
        learned = {name: value.contiguous() for name, value in model.reader.state_dict().items()}
        save_file(learned, work / TRAINED)
        device = "a GPU" if on_gpu else f"{trainer.args.world_size} cores"
        seen = {"groups": round(trainer.state.epoch * len(rows)), "device": device}
        (work / SEEN).write_text(json.dumps(seen), encoding="utf-8")


def _parameters(model: Any, rate: float) -> list[dict[str, Any]]:
    """The encoder's and the classifier's, taught already, at the one rate, new heads at the other."""
    old = [
        p
        for n, p in model.named_parameters()
        if p.requires_grad and n.startswith(("reader.bert", "reader.cl"))
    ]
    kept = {id(p) for p in old}
    new = [p for p in model.parameters() if p.requires_grad and id(p) not in kept]
    return [{"params": old, "lr": rate}, {"params": new, "lr": _HEADS_RATE}]


def _clock(path: Path, minutes: float) -> Any:
    """A callback for the trainer: how much of the time is gone, kept with the checkpoints."""
    import torch
    from transformers import TrainerCallback

    before = float(json.loads(path.read_text())["seconds"]) if path.is_file() else 0.0
    started = time.monotonic()

    class Clock(TrainerCallback):  # type: ignore[misc]
        gone = before

        def factor(self) -> float:
            """What the learning rate is multiplied by now: up from 0 to 1, then down to 0 in a line."""
            share = min(1.0, self.gone / (60 * minutes))
            return max(0.01, min(share / _WARM_UP, (1 - share) / (1 - _WARM_UP)))

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            """Look at the clock; all processes see the same time, and end at the same step."""
            gone = torch.tensor(before + time.monotonic() - started)
            if torch.distributed.is_initialized():
                torch.distributed.all_reduce(gone, torch.distributed.ReduceOp.MAX)
            self.gone = float(gone)
            control.should_training_stop |= self.gone >= 60 * minutes

        def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if state.is_world_process_zero:
                path.write_text(json.dumps({"seconds": self.gone}))

    return Clock()


def main(arguments: Sequence[str] | None = None) -> None:
    """One process of a training, as ``python -m tests.benchmarks.reader`` starts it."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.reader.training")
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, required=True)
    told = parser.parse_args(arguments)
    train(told.work, told.minutes)


if __name__ == "__main__":
    main()
