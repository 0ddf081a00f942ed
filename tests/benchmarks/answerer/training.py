"""Trains the adapter: LoRA on all layers, with all prompts of one set of passages computed together.

A tree's beginning is computed once. By the attention mask and the positions each branch sees the beginning
and itself, so the result is that of separate prompts at a third of the work. Trees of like length make a
batch. Started again with the same folder, a run goes on from its last save. A GPU is used where there is
one.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent.prompts import TAUGHT
from models.library_loading import trains_in_bfloat16
from policy.training.adapters import (
    Base,
    avoid_cudnn_attention,
    load_tokenizer,
    load_weights,
    write_adapter,
)
from tests.benchmarks.answerer.data import Branch, Tree

RANK: Final = 16
RATE: Final = 3e-4
SECONDS: Final = 180.0
"""Of a training on an H100; two cores with bfloat16 do as much in eight hours."""
TOKENS: Final = 9000
"""Of a batch, with its padding; it takes 33 GB."""
_LINEAR: Final = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
_WARM_UP: Final = 30  # steps
_SAVE_EVERY: Final = 100  # steps
_LIKE: Final = 64  # trees that are put in order of length
_LONGEST: Final = 2300  # tokens of a tree


@dataclass(frozen=True, slots=True)
class Packed:
    """A tree as one row of tokens."""

    tokens: list[int]  # the beginning, then the branches
    positions: list[int]  # of each token in its own prompt
    branch: list[int]  # of each token; 0 for the beginning
    places: list[int]  # where the next token is to be learned
    wanted: list[int]  # those tokens
    owners: list[int]  # the branches that they are of
    weights: list[float]  # of their losses


def beginning_text(tree: Tree) -> str:
    """What all prompts of a tree begin with, as the model reads it."""
    return f"<|im_start|>system\n{TAUGHT}<|im_end|>\n<|im_start|>user\n{tree.beginning}\n\n"


def question_text(branch: Branch) -> str:
    """The rest of a prompt, up to the reply."""
    return f"{branch.asked}<|im_end|>\n<|im_start|>assistant\n"


def pack(tree: Tree, tokenizer: Any) -> Packed:
    """The tokens of a tree, with as many branches as fit."""

    def coded(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    tokens = coded(beginning_text(tree))
    start = len(tokens)
    packed = Packed(tokens, list(range(start)), [0] * start, [], [], [], [])
    for number, one in enumerate(tree.branches, start=1):
        asked = coded(question_text(one))
        reply = coded(f"{one.reply}<|im_end|>")
        if len(packed.tokens) + len(asked) + len(reply) > _LONGEST:
            continue
        first = len(packed.tokens) + len(asked) - 1
        packed.tokens.extend(asked + reply)
        packed.positions.extend(range(start, start + len(asked) + len(reply)))
        packed.branch.extend([number] * (len(asked) + len(reply)))
        packed.places.extend(range(first, first + len(reply)))
        packed.wanted.extend(reply)
        packed.owners.extend([number] * len(reply))
        packed.weights.extend([1 / len(reply)] * len(reply))
    return packed


def batches(packed: Sequence[Packed], most: int) -> Iterator[Sequence[Packed]]:
    """The trees in batches of like length, of at most ``most`` tokens if there are several in one."""
    draw = random.Random(0)
    for at in range(0, len(packed), _LIKE):
        groups: list[list[Packed]] = [[]]
        for one in sorted(packed[at : at + _LIKE], key=lambda one: len(one.tokens)):
            if groups[-1] and (len(groups[-1]) + 1) * len(one.tokens) > most:
                groups.append([])
            groups[-1].append(one)
        draw.shuffle(groups)
        yield from groups


def loss(model: Any, batch: Sequence[Packed]) -> Any:
    """The sum, over the branches of the trees, of the weighted mean loss of what is to be written."""
    import torch

    losses = token_losses(model, batch)
    weights = torch.tensor([weight for one in batch for weight in one.weights], device=losses.device)
    return (losses * weights).sum()


def token_losses(model: Any, batch: Sequence[Packed]) -> Any:
    """The loss of each token that is to be written, in the order of the trees."""
    import torch

    device = model.device
    width = max(len(one.tokens) for one in batch)

    def rows(name: str, filled: int) -> Any:
        values = [getattr(one, name) for one in batch]
        return torch.tensor([row + [filled] * (width - len(row)) for row in values], device=device)

    branch = rows("branch", -1)
    earlier = torch.ones(width, width, dtype=torch.bool, device=device).tril()
    seen = earlier & ((branch[:, None, :] == 0) | (branch[:, None, :] == branch[:, :, None]))
    mask = torch.zeros(seen.shape, dtype=model.dtype, device=device)
    mask.masked_fill_(~seen, torch.finfo(model.dtype).min)
    places = [row * width + place for row, one in enumerate(batch) for place in one.places]
    with torch.autocast(device.type, torch.bfloat16, enabled=trains_in_bfloat16()):
        hidden = model.get_decoder()(
            input_ids=rows("tokens", 0),
            attention_mask=mask[:, None],
            position_ids=rows("positions", 0),
            use_cache=False,
        ).last_hidden_state
        picked = hidden.flatten(0, 1)[torch.tensor(places, device=device)]
        logits = model.get_output_embeddings()(picked)
    wanted = torch.tensor([token for one in batch for token in one.wanted], device=device)
    return torch.nn.functional.cross_entropy(logits.float(), wanted, reduction="none")


def train(trees: Sequence[Tree], base: Base, work: Path, *, seconds: float, rate: float = RATE) -> Path:
    """Train on ``trees`` in their order, for ``seconds`` at most; returns the adapter's folder.

    The rate of learning falls with the time that is used, or the batches, whichever is nearer to its end.
    """
    import torch

    adapter = work / "adapter"
    if adapter.is_dir():
        return adapter
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(base.folder)
    packed = [one for one in (pack(tree, tokenizer) for tree in trees) if one.places]
    steps = list(batches(packed, TOKENS))
    model = adapted(base, r=RANK, lora_alpha=2 * RANK).train()
    learned = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=rate, weight_decay=0.0, betas=(0.9, 0.98))
    done, spent = _resumed(work, learned, optimiser)
    began = time.monotonic() - spent
    for step, batch in enumerate(steps[done:], start=done):
        spent = time.monotonic() - began
        progress = max(spent / seconds, step / len(steps))
        if progress >= 1:
            break
        mean = loss(model, batch) / sum(sum(one.weights) for one in batch)
        learn(optimiser, mean, rate * min(1.0, (step + 1) / _WARM_UP) * falling(progress))
        with (work / "log.jsonl").open("a", encoding="utf-8") as log:
            line = {"step": step, "loss": round(float(mean.detach()), 4), "seconds": int(spent)}
            log.write(json.dumps(line) + "\n")
        if (step + 1) % _SAVE_EVERY == 0:
            _save(work, learned, optimiser, step + 1, time.monotonic() - began)
    write_adapter(model, base, work / ".unfinished")
    (work / ".unfinished").rename(adapter)
    return adapter


def learn(optimiser: Any, mean: Any, rate: float) -> None:
    """Take one step down the gradient of the mean loss ``mean``."""
    import torch

    mean.backward()
    for group in optimiser.param_groups:
        group["lr"] = rate
        torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def falling(progress: float) -> float:
    """The share of the rate of learning at a share of the training, both 0 to 1: half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * progress))


def adapted(base: Base, **shape: Any) -> Any:
    """The base's weights with a new adapter of this shape, on the GPU if there is one."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    avoid_cudnn_attention()
    weights = load_weights(base.folder).to("cuda" if torch.cuda.is_available() else "cpu")
    return get_peft_model(weights, LoraConfig(task_type="CAUSAL_LM", target_modules=_LINEAR, **shape))


def _resumed(work: Path, learned: Sequence[Any], optimiser: Any) -> tuple[int, float]:
    """Steps and seconds of the run that was killed, whose state is taken over; zeros if there is none."""
    import torch

    if not (work / "state.pt").is_file():
        return 0, 0.0
    kept = torch.load(work / "state.pt", weights_only=True)
    for one, saved in zip(learned, kept["weights"], strict=True):
        one.data.copy_(saved)
    optimiser.load_state_dict(kept["optimiser"])
    return int(kept["done"]), float(kept["spent"])


def _save(work: Path, learned: Sequence[Any], optimiser: Any, done: int, spent: float) -> None:
    import torch

    state = {
        "weights": [one.detach() for one in learned],
        "optimiser": optimiser.state_dict(),
        "done": done,
        "spent": spent,
    }
    torch.save(state, work / "state.unfinished")
    (work / "state.unfinished").replace(work / "state.pt")
