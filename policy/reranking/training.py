"""Training: LoRA and a new head on MiniLM, by sentence-transformers' cross-encoder trainer.

A group is a question with the paragraphs that support it and some hard negatives. The loss asks two things
of its logits: that each supporting paragraph wins against all the negatives of its group (which orders),
and that each logit alone says whether the paragraph supports (which can be calibrated and compared across
questions).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from policy.reranking.mining import Mined

RANK: Final = 32
ALPHA: Final = 64
TOKENS: Final = 192  # question and passage together
_TAUGHT_TOKENS: Final = 160  # what is longer is cut while learning: a tenth of the pairs
_LEARNING_RATE: Final = 5e-4
GROUPS: Final = 6  # a step
_PAIRS: Final = 12  # a forward pass, of like length; more of them do not fit the processor's caches
_SINGLE_WEIGHT: Final = 0.3  # of the loss that looks at each pair alone
# The encoder's attention and feed-forward layers; embeddings stay as they are.
LAYERS: Final = (
    r".*encoder\.layer\.\d+\.(attention\.self\.(query|key|value)|(.*\.)?output\.dense|intermediate\.dense)"
)
HEAD: Final = ("pooler", "classifier")


@dataclass(frozen=True)
class Group:
    """A question, passages, and for each whether it supports the question."""

    question: str
    passages: list[str]
    supports: list[int]


def groups(mined: Sequence[Mined], negatives: int, rounds: int, seed: int = 0) -> list[Group]:
    """Each question ``rounds`` times, each time with other negatives while there are any.

    2Wiki's question pairs come once: they are many, easy, and made from a dozen templates.

    A negative is drawn from what recall brought, the upper ranks more often; what may hold the answer is
    none.
    """
    chance = random.Random(seed)
    made: list[Group] = []
    for one in mined:
        gold = [f.text for f in one.found if f.gold]
        others = [f for f in one.found if not f.gold and not f.doubtful]
        # Efraimidis and Spirakis' keys: a weighted order without repetition.
        keyed = sorted(others, key=lambda f: -(chance.random() ** ((f.rank or 0) + 5)))
        once = not one.whole and one.pool.startswith("2wiki")
        for number in range(1 if once else rounds):
            drawn = [f.text for f in keyed[number * negatives : (number + 1) * negatives]]
            if gold and drawn:
                made.append(Group(one.question, gold + drawn, [1] * len(gold) + [0] * len(drawn)))
    chance.shuffle(made)
    return made


def untrained(base: Path) -> Any:
    """A CrossEncoder on the base with a fresh adapter and head, for `fit`."""
    import torch
    from peft import LoraConfig, TaskType, get_peft_model
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    model = CrossEncoder(
        str(base),
        num_labels=1,
        max_length=_TAUGHT_TOKENS,
        device="cpu",
        local_files_only=True,
        # On a CPU one thread draws the masks, which takes longer than the rest of the pass. One pass over
        # pairs that hardly repeat needs no dropout.
        config_kwargs={"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
        # The fused kernel's backward pass multiplies head by head: 3.2 s of processor time a step, not 2.2.
        model_kwargs={"attn_implementation": "eager"},
    )
    config = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=RANK,
        lora_alpha=ALPHA,
        lora_dropout=0.0,
        target_modules=LAYERS,
        modules_to_save=list(HEAD),
    )
    model[0].model = get_peft_model(model[0].model, config)
    return model


def fit(model: Any, made: Sequence[Group], folder: Path, *, steps: int = -1) -> None:
    """Trains ``model`` for one pass over the groups; goes on from the newest checkpoint in ``folder``.

    Args:
        model: From `untrained`.
        made: What to learn from.
        folder: Of the checkpoints.
        steps: Stop after so many; -1 for the whole pass.
    """
    from datasets import Dataset
    from sentence_transformers.cross_encoder import (
        CrossEncoderTrainer,
        CrossEncoderTrainingArguments,
    )
    from transformers.trainer_utils import get_last_checkpoint

    from policy.reranking.loss import GroupLoss

    class AdapterTrainer(CrossEncoderTrainer):  # type: ignore[misc] # Any to mypy
        """Keeps and reads back the adapter and the head alone."""

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            self.model[0].model.save_pretrained(output_dir or self.args.output_dir)

        def _load_from_checkpoint(self, checkpoint_path: str) -> None:
            from peft import set_peft_model_state_dict
            from safetensors.torch import load_file

            state = load_file(str(Path(checkpoint_path) / "adapter_model.safetensors"))
            set_peft_model_state_dict(self.model[0].model, state)

    data = Dataset.from_dict(
        {
            "question": [g.question for g in made],
            "passages": [g.passages for g in made],
            "label": [g.supports for g in made],
        }
    )
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=1,
        max_steps=steps,
        per_device_train_batch_size=GROUPS,
        learning_rate=_LEARNING_RATE,
        weight_decay=0.01,
        warmup_steps=0.08,
        lr_scheduler_type="cosine",
        bf16=True,
        use_cpu=True,
        seed=0,
        logging_steps=20,
        save_steps=40,
        save_total_limit=2,
        report_to=[],
        disable_tqdm=True,
    )
    trainer = AdapterTrainer(
        model=model,
        args=arguments,
        train_dataset=data,
        loss=GroupLoss(model, single_weight=_SINGLE_WEIGHT, pairs=_PAIRS),
    )
    last = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    trainer.train(resume_from_checkpoint=last)
