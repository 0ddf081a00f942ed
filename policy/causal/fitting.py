"""Supervised fine-tuning on the letter of each state's best action (SFT), then preferences (DPO).

DPO compares one letter with another in the same state; its reference is SFT's adapter, of which TRL keeps
a frozen copy. (Rafailov et al., arXiv 2305.18290; on decision tokens alone, DeepRAG, arXiv 2502.01142.)

The trainers are TRL's, so more GPUs, or more machines, are a launch command and no code. Each process reads
a share of the states, and the first writes::

    accelerate launch --multi_gpu --num_processes 4 "$(command -v deepthink)" train-policy --method dpo

Without a GPU the same command starts processes that talk through gloo; on one machine that pays where it
has many cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from agent.state import Action
from policy.causal import rows
from policy.causal.base import device, load_tokenizer, open_base
from policy.causal.prompt import MOST_TOKENS, Prompter
from policy.causal.scorer import CausalScorer, open_adapter
from policy.causal.stages import Method, OnStep, Stage
from policy.examples import Examples
from policy.training.errors import CannotTrain

LADDER: Final[tuple[Method, ...]] = ("sft", "dpo")
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
