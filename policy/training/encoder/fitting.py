"""Fit the encoder: LoRA on the base's upper layers and a new head, resumable.

For sufficiency a forest is the teacher: half of a target is the outcome, half the forest's estimate on
questions it was not fitted on, which is less noisy (distillation: Hinton et al., 1503.02531).
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.library_loading import loading
from models.processor import trains_in_bfloat16
from models.protocols import ModelMissing
from policy.decisions.returns import Examples
from policy.decisions.trees import Seen, fold
from policy.serving.scorers import Scores
from policy.training import forest
from policy.training.encoder.rows import Batches, Columns, open_tokenizer, rows
from policy.training.encoder.scorer import EncoderScorer, in_batches, scores
from policy.training.errors import CannotTrain, TrainingCancelled, TrainingFailed
from policy.training.watching import Watch
from policy.training.workplace import check_room, newest, reporting_full_disk

FOLDS: Final = 4
SHARE: Final = 0.5  # weight of the forest in a target


def taught(examples: Examples, seed: int = 0) -> Examples:
    """``examples`` with each known sufficiency moved halfway towards a forest's prediction."""
    sufficient = examples.sufficient.copy()
    # Salted: the questions were already split by their bare ids.
    parts = np.array([fold(f"{question}\ntaught", FOLDS) for question in examples.questions])
    for part in range(FOLDS):
        inside, outside = np.flatnonzero(parts == part).tolist(), np.flatnonzero(parts != part).tolist()
        if not inside or not outside:
            continue
        forest_scores = forest.fit(examples.take(outside), seed=seed).score(
            [examples.states[i] for i in inside]
        )
        sufficient[inside] += SHARE * (np.clip(forest_scores.sufficiency, 0.0, 1.0) - sufficient[inside])
    return dataclasses.replace(examples, sufficient=sufficient)


EPOCHS: Final = 3.0
RANK: Final = 16
ALPHA: Final = 32
# The upper half: lower layers represent words, which are the same here, and skipping them saves a third of
# the time.
LAYERS: Final = (
    r".*encoder\.layer\.[345]\."
    r"(attention\.self\.(query|key|value)|(attention\.)?output\.dense|intermediate\.dense)"
)
_RATE = 4e-4
_BATCH = 16  # two make a step: one batch dominates the memory of a training
_SAVE_STEPS = 25  # about a minute on two cores: the most that a kill costs
_LOOK_STEPS = 100
_ROOM = 64 * 2**20  # bytes of two checkpoints: adapter, head and the optimiser's state, with some slack


def fit(
    examples: Examples,
    *,
    base: Path,
    work: Path,
    seed: int = 0,
    epochs: float = EPOCHS,
    steps: int = -1,
    watch: Watch | None = None,
) -> EncoderScorer:
    """Train the encoder on ``examples``.

    Args:
        examples: Of the training questions.
        base: Folder of a BERT with its tokenizer, such as MiniLM.
        work: Folder of the checkpoints; a killed training resumes from the newest.
        seed: Of all random numbers.
        epochs: Passes over the examples.
        steps: Optimiser steps, in place of ``epochs``, if not -1.
        watch: Gets the steps and the scores.

    Raises:
        CannotTrain: no example has a preference, or the base is not a BERT.
        TrainingFailed: the loss is not a number, or there is no room for a checkpoint.
        TrainingCancelled: ``watch.cancel`` was set; the next call resumes.
        ModelMissing, ModelError: the base is missing or cannot be loaded.
    """
    watch = watch or Watch()
    work.mkdir(parents=True, exist_ok=True)
    check_room(work, _ROOM)
    columns = Columns.of(examples.states)
    tokenizer = open_tokenizer_of(base)
    data = rows(taught(examples, seed), columns, tokenizer)
    if not any(data["better"]):
        raise CannotTrain(
            "In no state is one action better than another.",
            "Collect more questions, or lower the cost of a step with --cost.",
        )
    with loading(base, "base model"):
        from policy.training.encoder.network import build_untrained

        torch_seed(seed)
        model = build_untrained(base, columns.width)
    padding = int(tokenizer.token_to_id("[PAD]"))
    with without_deprecation_warnings():
        trainer = _trainer(model, data, padding, base, work, seed, epochs, steps)
    live = _Live(watch, trainer, columns, tokenizer, padding)
    trainer.add_callback(live.callback())
    with reporting_full_disk(work), without_deprecation_warnings():
        checkpoint = newest(work)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if live.cancelled:
        raise TrainingCancelled(
            f"Stopped after step {trainer.state.global_step} of {trainer.state.max_steps}.",
            "The same command resumes from there.",
        )
    adapter, config, head = _weights(trainer.accelerator.unwrap_model(trainer.model))
    return EncoderScorer(base, columns, adapter, config, head)


def open_tokenizer_of(base: Path) -> Any:
    """The base's tokenizer. Raises `CannotTrain` if it is not a BERT, `ModelMissing` if it is missing."""
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


def torch_seed(seed: int) -> None:
    """Seed torch's random numbers: the head's initial weights and dropout."""
    import torch

    torch.manual_seed(seed)


@contextmanager
def without_deprecation_warnings() -> Iterator[None]:
    """Suppress the libraries' warnings about deprecated arguments that they pass to each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _trainer(
    model: Any,
    data: Any,
    padding: int,
    base: Path,
    work: Path,
    seed: int,
    epochs: float,
    steps: int,
) -> Any:
    import torch
    from peft import LoraConfig
    from transformers import AutoTokenizer, PrinterCallback
    from trl import RewardConfig

    from policy.training.encoder.trainers import PreferenceTrainer

    adapter = LoraConfig(
        r=RANK,
        lora_alpha=ALPHA,
        lora_dropout=0.05,
        target_modules=LAYERS,
        modules_to_save=["fusion"],
    )
    trainer = PreferenceTrainer(
        model=model,
        args=RewardConfig(
            output_dir=str(work),
            num_train_epochs=epochs,
            max_steps=steps,
            per_device_train_batch_size=_BATCH,
            gradient_accumulation_steps=2,
            learning_rate=_RATE,
            lr_scheduler_type="cosine",
            warmup_steps=0.06,
            max_grad_norm=1.0,
            bf16=trains_in_bfloat16(),
            use_cpu=not torch.cuda.is_available(),
            seed=seed,
            logging_steps=1,
            logging_nan_inf_filter=False,
            save_strategy="steps",
            save_steps=_SAVE_STEPS,
            save_total_limit=2,
            train_sampling_strategy="group_by_length",
            length_column_name="length",
            remove_unused_columns=False,
            dataloader_pin_memory=False,
            report_to=[],
            disable_tqdm=True,
            log_level="error",
            eos_token="[SEP]",
            disable_dropout=False,
            gradient_checkpointing=False,
            max_length=None,
        ),
        train_dataset=data,
        data_collator=Batches(padding),
        processing_class=AutoTokenizer.from_pretrained(str(base), local_files_only=True),
        peft_config=adapter,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


class _Live:
    """Reports the steps of a training, scores with the current weights, and stops it on request."""

    def __init__(self, watch: Watch, trainer: Any, columns: Columns, tokenizer: Any, padding: int) -> None:
        self._watch = watch
        self._trainer = trainer
        self._parts = (columns, tokenizer, padding)
        self.cancelled = False

    def callback(self) -> Any:
        """The trainer's callback."""
        from transformers import TrainerCallback

        live = self

        class Callback(TrainerCallback):  # type: ignore[misc]
            def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
                if logs and "loss" in logs:
                    live.logged(state, float(logs["loss"]), float(logs.get("grad_norm", 0.0)))
                    if live.stops(state):
                        control.should_save = control.should_training_stop = True

            def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                live.scored(state)

            def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                if state.global_step % _LOOK_STEPS == 0 or state.global_step == state.max_steps:
                    live.scored(state)

        return Callback()

    def logged(self, state: Any, loss: float, slope: float) -> None:
        """Report a step."""
        if not (math.isfinite(loss) and math.isfinite(slope)):
            raise TrainingFailed(
                f"The loss is not a number at step {state.global_step} of {state.max_steps}.",
                "Nothing was changed. Train with another --seed, or look at the data for values that "
                "are not numbers: “deepthink traces stats”.",
            )
        if state.is_world_process_zero:
            self._watch.on_step(state.global_step, state.max_steps, loss)

    def stops(self, state: Any) -> bool:
        """Whether the training was cancelled before its last step."""
        if self._watch.cancel.is_set() and state.global_step < state.max_steps:
            self.cancelled = True
        return self.cancelled

    def scored(self, state: Any) -> None:
        """Evaluate on held-out questions."""
        if self._watch.on_score is None or self.cancelled or not state.is_world_process_zero:
            return
        self._watch.on_score(state.global_step, self._score)

    def _score(self, states: Sequence[Seen]) -> Scores:
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        device, training = model.device, model.training

        def outputs(**inputs: Any) -> Any:
            with self._trainer.compute_loss_context_manager():
                return model(**{name: tensor.to(device) for name, tensor in inputs.items()}).outputs.cpu()

        model.eval()
        try:
            return scores(in_batches(outputs, states, *self._parts), states)
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
    config = model.peft_config["default"].to_dict()
    settings = {
        name: _jsonable(value) for name, value in config.items() if name != "base_model_name_or_path"
    }
    settings["modules_to_save"] = None  # the head is not part of the base: it has its own file
    settings["base_model_name_or_path"] = None
    settings["inference_mode"] = True
    return adapter, settings, head


def _jsonable(value: Any) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value.value if hasattr(value, "value") else value
