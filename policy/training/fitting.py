"""Fit the encoder: LoRA on the base's upper layers and a new head, resumable.

TRL's preference trainer learns from pairs of a better and a worse action in one state, and sufficiency
along with them. For sufficiency a forest is the teacher: half of a target is the outcome, half the forest's
estimate on questions it was not fitted on, which is less noisy (distillation: Hinton et al., 1503.02531).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoTokenizer, PrinterCallback, TrainerCallback
from trl import RewardConfig, RewardTrainer

from models.library_loading import loading, trains_in_bfloat16
from models.protocols import ModelMissing
from policy.decisions import Examples, Floats, Seen, fold
from policy.serving.scorers import Scores
from policy.training import forest
from policy.training.encoder import (
    Columns,
    EncoderScorer,
    build_untrained,
    network_scores,
    open_tokenizer,
    padded,
    token_ids,
)
from policy.training.progress import CannotTrain, TrainingCancelled, TrainingFailed, Watch
from traces.store import is_full

EPOCHS: Final = 3.0
_RANK: Final = 16
_ALPHA: Final = 32
# The upper half: lower layers represent words, which are the same here, and skipping them saves a third of
# the time.
_LAYERS: Final = (
    r".*encoder\.layer\.[345]\."
    r"(attention\.self\.(query|key|value)|(attention\.)?output\.dense|intermediate\.dense)"
)
_RATE = 4e-4
_HEAD_RATE = 5e-4  # the head is new; the adapter only adjusts the base
_DECAY = 0.01
_BATCH = 16  # two make a step: one batch dominates the memory of a training
_SAVE_STEPS = 25  # about a minute on two cores: the most that a kill costs
_LOOK_STEPS = 100
_FOLDS = 4
_TAUGHT = 0.5  # weight of the forest in a target
_WIDTHS = 16  # widths are multiples of this: torch caches kernels for each width
_CLEAR = 0.02  # minimum difference between two actions to be a preference and not noise
_MARGIN = 2.0  # required log-odds per unit of quality between a better and a worse action


def fit(
    examples: Examples,
    *,
    base: Path,
    work: Path,
    watch: Watch,
    seed: int = 0,
    epochs: float = EPOCHS,
    steps: int | None = None,
) -> EncoderScorer:
    """Train the encoder on the examples of the training questions.

    ``base`` is the folder of a BERT with its tokenizer, such as MiniLM; ``work`` that of the checkpoints,
    from the newest of which a killed training resumes. ``watch`` gets the steps and the scores; ``steps``
    are those of the optimiser, in place of ``epochs``.

    Raises:
        CannotTrain: no example has a preference, or the base is not a BERT.
        TrainingFailed: the loss is not a number, or there is no room for a checkpoint.
        TrainingCancelled: ``watch.cancel`` was set; the next call resumes.
        ModelMissing, ModelError: the base is missing or cannot be loaded.
    """
    from peft import LoraConfig

    work.mkdir(parents=True, exist_ok=True)
    columns = Columns.of(examples.states, examples.tries)
    tokenizer = _open_berts_tokenizer(base)
    data = rows(taught(examples, seed), columns, tokenizer)
    if not any(data["better"]):
        raise CannotTrain(
            "In no state is one action better than another.",
            "Collect more questions, or lower the cost of a step with --cost.",
        )
    with loading(base, "base model"):
        torch.manual_seed(seed)  # the head's initial weights and dropout
        model = build_untrained(base, columns)
    with without_deprecation_warnings():
        trainer = _PreferenceTrainer(
            model=model,
            args=RewardConfig(
                **usual_options(work),
                num_train_epochs=epochs,
                max_steps=steps or -1,
                per_device_train_batch_size=_BATCH,
                gradient_accumulation_steps=2,
                learning_rate=_RATE,
                warmup_steps=0.06,
                seed=seed,
                save_steps=_SAVE_STEPS,
                train_sampling_strategy="group_by_length",
                length_column_name="length",
                log_level="error",
                eos_token="[SEP]",
                disable_dropout=False,
            ),
            train_dataset=data,
            data_collator=partial(collated, padding=tokenizer.token_to_id("[PAD]")),
            processing_class=AutoTokenizer.from_pretrained(str(base), local_files_only=True),
            peft_config=LoraConfig(
                r=_RANK,
                lora_alpha=_ALPHA,
                lora_dropout=0.05,
                target_modules=_LAYERS,
                modules_to_save=["fusion"],
            ),
        )
    run(trainer, work, _Live(watch, trainer, columns, tokenizer))
    adapter, config, head = _weights(trainer.accelerator.unwrap_model(trainer.model))
    return EncoderScorer(base, columns, adapter, config, head)


def _open_berts_tokenizer(base: Path) -> Any:
    try:
        kind = json.loads((base / "config.json").read_text("utf-8")).get("model_type")
    except (OSError, ValueError) as error:
        raise ModelMissing(
            f"There is no base model in {base}.", "Fetch it: “deepthink models pull all-minilm-l6-v2”."
        ) from error
    if kind != "bert" or not (base / "tokenizer.json").is_file():
        raise CannotTrain(
            f"The base in {base} is a {kind}; the encoder needs a BERT such as all-minilm-l6-v2.",
            "Choose another --base.",
        )
    with loading(base, "base model"):
        return open_tokenizer(base)


def taught(examples: Examples, seed: int = 0) -> Examples:
    """``examples`` with each known sufficiency moved halfway towards a forest's prediction."""
    sufficient = examples.sufficient.copy()
    # Salted: the questions were already split by their bare ids.
    parts = np.array([fold(f"{question}\ntaught", _FOLDS) for question in examples.questions])
    for part in range(_FOLDS):
        inside, outside = np.flatnonzero(parts == part).tolist(), np.flatnonzero(parts != part).tolist()
        if not inside or not outside:
            continue
        teacher = forest.fit(examples.take(outside), seed=seed)
        estimates = teacher.score([examples.states[i] for i in inside]).sufficiency
        sufficient[inside] += _TAUGHT * (np.clip(estimates, 0.0, 1.0) - sufficient[inside])
    return dataclasses.replace(examples, sufficient=sufficient)


def rows(examples: Examples, columns: Columns, tokenizer: Any) -> Any:
    """A `datasets.Dataset` with a row for each state.

    ``chosen_ids`` and ``rejected_ids`` are the column names that TRL's `RewardTrainer` requires. A better
    and a worse action in one state share its text, so it is stored once and the other column is empty;
    ``better``, ``worse`` and ``gaps`` are the state's pairs.
    """
    from datasets import Dataset

    ids = token_ids(tokenizer, examples.states)
    pairs = [preferences(row) for row in examples.values[:, columns.indices]]
    return Dataset.from_dict(
        {
            "chosen_ids": ids,
            "rejected_ids": [[]] * len(ids),
            "length": [len(i) for i in ids],
            "numbers": list(columns.encode(examples.states)),
            "sufficient": examples.sufficient.astype(np.float32),
            "weight": examples.weights.astype(np.float32),
            "better": [[better for better, _, _ in p] for p in pairs],
            "worse": [[worse for _, worse, _ in p] for p in pairs],
            "gaps": [[gap for _, _, gap in p] for p in pairs],
        }
    )


def preferences(values: Floats) -> list[tuple[int, int, float]]:
    """Better action, worse action and difference, for each pair that differs clearly.

    ``values`` are the returns of the actions, NaN where unknown.
    """
    pairs: list[tuple[int, int, float]] = []
    for first, second in combinations(range(len(values)), 2):
        gap = float(values[first] - values[second])
        if abs(gap) >= _CLEAR:  # False for NaN
            pairs.append((first, second, gap) if gap > 0 else (second, first, -gap))
    return pairs


def collated(batch: Sequence[Mapping[str, Any]], padding: int) -> dict[str, Any]:
    """Rows as a batch of tensors by name: texts padded with ``padding``, numbers, targets, pairs.

    A pair is the row of a state, the column of the better action and that of the worse one.
    """
    pairs = [
        (index, better, worse)
        for index, row in enumerate(batch)
        for better, worse in zip(row["better"], row["worse"], strict=True)
    ]
    gaps = [gap for row in batch for gap in row["gaps"]]
    return {
        **padded([row["chosen_ids"] for row in batch], padding, _WIDTHS),
        "numbers": torch.tensor(np.array([row["numbers"] for row in batch], dtype=np.float32)),
        "sufficient": torch.tensor([row["sufficient"] for row in batch]),
        "weight": torch.tensor([row["weight"] for row in batch]),
        "pairs": torch.tensor(pairs, dtype=torch.long).reshape(-1, 3),
        "margin": torch.tensor(gaps, dtype=torch.float32) * _MARGIN,
    }


@contextlib.contextmanager
def without_deprecation_warnings() -> Iterator[None]:
    """Suppress the libraries' warnings about deprecated arguments that they pass to each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def usual_options(work: Path) -> dict[str, Any]:
    """TRL's options of every training: silent, on a GPU if there is one, with checkpoints in ``work``."""
    has_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(work),
        "lr_scheduler_type": "cosine",
        "bf16": trains_in_bfloat16(),
        "use_cpu": not has_gpu,
        "dataloader_pin_memory": has_gpu,
        "gradient_checkpointing": False,
        "max_length": None,
        "remove_unused_columns": False,
        "save_total_limit": 2,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": [],
        "disable_tqdm": True,
    }


def run(trainer: Any, work: Path, report: Reporting | None) -> None:
    """Train from the newest checkpoint in ``work``, if there is one; ``report`` observes it.

    Raises `TrainingFailed`, or `TrainingCancelled` if it was stopped.
    """
    if report:
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(report)
    checkpoint = newest(work)
    with without_deprecation_warnings(), reporting_full_disk(work):
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if report and report.cancelled:
        raise TrainingCancelled(
            f"Stopped after step {trainer.state.global_step} of {trainer.state.max_steps}.",
            "The same command resumes from there.",
        )


class _PreferenceTrainer(RewardTrainer):  # type: ignore[misc]
    """Bradley-Terry loss over pairs of actions, with margins, plus sufficiency."""

    model: Any
    args: Any
    optimizer: Any

    def create_optimizer(self, model: Any = None) -> Any:
        """AdamW over the adapter at ``args.learning_rate`` and over the head at its own rate."""
        if self.optimizer is None:
            adapter: list[Tensor] = []
            head: list[Tensor] = []
            for name, parameter in (model or self.model).named_parameters():
                if parameter.requires_grad:
                    (head if "fusion" in name else adapter).append(parameter)
            groups = [
                {"params": adapter, "lr": self.args.learning_rate},
                {"params": head, "lr": _HEAD_RATE},
            ]
            self.optimizer = torch.optim.AdamW(groups, weight_decay=_DECAY)
        return self.optimizer

    def create_model_card(self, *_what: Any, **_more: Any) -> None:
        """Do nothing: the policy's folder has its own card."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """TRL's loss, plus cross-entropy on sufficiency.

        TRL's own would gather the rewards of all processes, which must have the same number, and would be
        NaN for a batch without preferences.
        """
        outputs = model(**{name: inputs[name] for name in ("input_ids", "attention_mask", "numbers")})
        # A state is encoded once, however many of its actions are compared.
        state, better, worse = inputs["pairs"].unbind(dim=1)
        loss = preference_loss(outputs[state, better], outputs[state, worse], inputs["margin"])
        loss = loss + sufficiency_loss(outputs[:, -1], inputs["sufficient"], inputs["weight"])
        return (loss, outputs) if return_outputs else loss


def preference_loss(better: Tensor, worse: Tensor, margin: Tensor) -> Tensor:
    """Mean Bradley-Terry loss with margins (required log-odds), 0 without pairs. Shapes (pairs,)."""
    losses = -nn.functional.logsigmoid(better - worse - margin)
    return losses.sum() / max(1, len(margin))


def sufficiency_loss(logits: Tensor, sufficient: Tensor, weight: Tensor) -> Tensor:
    """Mean weighted cross-entropy; NaN marks states with unknown sufficiency. Shapes (n,)."""
    known = ~torch.isnan(sufficient)
    errors = nn.functional.binary_cross_entropy_with_logits(
        logits.float(), torch.where(known, sufficient, 0.0), reduction="none"
    )
    shares = known * weight
    return (errors * shares).sum() / shares.sum().clamp_min(1e-6)


class Reporting(TrainerCallback):  # type: ignore[misc]
    """Reports the steps of a training, and stops it on request."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.cancelled = False

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_more: Any) -> None:
        if not logs or "loss" not in logs:
            return
        loss = float(logs["loss"])
        if not (math.isfinite(loss) and math.isfinite(float(logs.get("grad_norm", 0.0)))):
            raise TrainingFailed(
                f"The loss is not a number at step {state.global_step} of {state.max_steps}.",
                "Nothing was changed. Train with another --seed, or look at the data for values that "
                "are not numbers: “deepthink traces stats”.",
            )
        if state.is_world_process_zero:
            self._watch.stepped(state.global_step, state.max_steps, loss)
        if self._watch.cancel.is_set() and state.global_step < state.max_steps:
            self.cancelled = control.should_save = control.should_training_stop = True


class _Live(Reporting):
    """Also scores with the current weights."""

    def __init__(self, watch: Watch, trainer: Any, columns: Columns, tokenizer: Any) -> None:
        super().__init__(watch)
        self._trainer = trainer
        self._columns = columns
        self._tokenizer = tokenizer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
        self._report_scores(state)

    def on_save(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
        if state.global_step % _LOOK_STEPS == 0 or state.global_step == state.max_steps:
            self._report_scores(state)

    def _report_scores(self, state: Any) -> None:
        if not self.cancelled and state.is_world_process_zero:
            self._watch.scored(state.global_step, self)

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores by the current weights."""
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        device, training = model.device, model.training

        def outputs(**inputs: Any) -> Any:
            with self._trainer.compute_loss_context_manager():
                return model(**{name: tensor.to(device) for name, tensor in inputs.items()}).cpu()

        model.eval()
        try:
            return network_scores(outputs, states, self._columns, self._tokenizer)
        finally:
            model.train(training)


def _weights(model: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Adapter by PEFT's names relative to the base, PEFT's configuration, and the head's weights."""
    from peft import get_peft_model_state_dict

    state = get_peft_model_state_dict(model)
    adapter, head = {}, {}
    for name, weight in state.items():
        tensor = weight.detach().float().cpu().contiguous()
        if ".fusion." in name:
            head[name.partition(".fusion.")[2]] = tensor
        else:
            adapter[name.replace("base_model.model.bert.", "base_model.model.")] = tensor
    config = json.loads(json.dumps(model.peft_config["default"].to_dict(), default=sorted))  # of sets
    config["modules_to_save"] = None  # the head is not part of the base: it has its own file
    config["base_model_name_or_path"] = None
    config["inference_mode"] = True
    return adapter, config, head


# --- checkpoints ---------------------------------------------------------------------------------

# How torch reports a full disk; safetensors repeats the system's message.
_FULL: Final = ("PytorchStreamWriter", "unexpected pos")
_STATE: Final = "trainer_state.json"  # the trainer writes it last in a checkpoint


def newest(folder: Path) -> Path | None:
    """The newest complete checkpoint in ``folder``, None if there is none.

    A checkpoint that a kill left half written is removed.
    """
    checkpoints = folder.glob("checkpoint-*")
    for path in sorted(checkpoints, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        with contextlib.suppress(OSError, ValueError):
            json.loads((path / _STATE).read_text("utf-8"))
            return path
        shutil.rmtree(path)
    return None


@contextlib.contextmanager
def reporting_full_disk(folder: Path) -> Iterator[None]:
    """Raise `TrainingFailed` where the disk is full, whatever error the library raises."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        if not is_full(error) and not any(words in str(error) for words in _FULL):
            raise
        raise TrainingFailed(
            f"There is no space for the checkpoint in {folder}; the last whole one is kept.",
            "Make room and start again with the same command: it resumes from there.",
        ) from error
