"""Climbing the ladder: SFT, then DPO from its adapter, then GRPO from that.

The trainers are TRL's, so more GPUs, or more machines, are a launch command and no code. Each process reads
a share of the states, and the first writes::

    accelerate launch --multi_gpu --num_processes 4 "$(command -v deepthink)" train-policy --method dpo

Without a GPU the same command starts processes that talk through gloo; on one machine that pays where it
has many cores.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from policy.causal import dpo, grpo, rows, sft
from policy.causal.base import device, load_tokenizer, open_base
from policy.causal.prompt import MOST_TOKENS, Prompter
from policy.causal.scorer import CausalScorer, open_adapter
from policy.causal.stages import Method, OnStep, Stage
from policy.examples import Examples
from policy.training.errors import CannotTrain

LADDER: Final[tuple[Method, ...]] = ("sft", "dpo", "grpo")
CPU_STATES: Final = 1_200
"""A quarter of an hour of SFT on two quiet cores."""

_SHARES: Final = {"sft": 1.0, "dpo": 0.4, "grpo": 0.2}
"""Of the states that a rung reads: a state costs 1, about 3, and about 6 forward and backward passes."""


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
        most_states: That SFT reads, those with most at stake drawn first; DPO reads 40 and GRPO 20 in a
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
    adapter: Path | None = None
    for rung in LADDER[: LADDER.index(method) + 1]:
        some = chosen[: max(1, round(_SHARES[rung] * len(chosen)))]
        on_rung = replace(stage, method=rung, folder=stage.folder / rung, before=adapter)
        if rung == "sft":
            adapter = sft.train(on_rung, rows.letters(some))
        elif rung == "dpo":
            adapter = dpo.train(on_rung, rows.pairs(some, stage.seed))
        else:
            adapter = grpo.train(on_rung, rows.rewards(some))
    assert adapter is not None
    return adapter
