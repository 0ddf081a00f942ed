"""Trains the adapter: LoRA on the upper layers, with all prompts of one set of passages computed together.

A tree's beginning is computed once. By the attention mask and the positions each branch sees the beginning
and itself, so the result is that of separate prompts at a third of the work. The lower layers are frozen:
nothing is computed backwards through them. Started again with the same folder, a run goes on from its last
save. A GPU is used where there is one.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent.prompts import TAUGHT
from models.library_loading import trains_in_bfloat16
from tests.benchmarks.adapters.base import Base, load_tokenizer, load_weights, write_adapter
from tests.benchmarks.adapters.export import load_exported
from tests.benchmarks.answerer.data import Tree

RANK: Final = 16
RATE: Final = 2e-4
SECONDS: Final = 4800.0
"""Of a training on two cores with bfloat16."""
TREES: Final = 2
"""Of an optimiser step."""
_LINEAR: Final = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
_WARM_UP: Final = 8  # steps
_SAVE_EVERY: Final = 5  # steps
_BRANCHES: Final = 8  # about as many are in a tree
_LONGEST: Final = 2400  # tokens of a tree


@dataclass(frozen=True, slots=True)
class Packed:
    """A tree as one row of tokens.

    Attributes:
        tokens: The beginning, then the branches.
        positions: Of each token in its own prompt.
        branch: Of each token; 0 for the beginning.
        places: Where the next token is to be learned.
        wanted: Those tokens.
        weights: Of their losses.
    """

    tokens: list[int]
    positions: list[int]
    branch: list[int]
    places: list[int]
    wanted: list[int]
    weights: list[float]


def pack(tree: Tree, tokenizer: Any) -> Packed:
    """The tokens of a tree, with as many branches as fit."""

    def coded(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    tokens = coded(f"<|im_start|>system\n{TAUGHT}<|im_end|>\n<|im_start|>user\n{tree.beginning}\n\n")
    start = len(tokens)
    packed = Packed(tokens, list(range(start)), [0] * start, [], [], [])
    for number, one in enumerate(tree.branches, start=1):
        asked = coded(f"{one.asked}<|im_end|>\n<|im_start|>assistant\n")
        reply = coded(f"{one.reply}<|im_end|>")
        if len(packed.tokens) + len(asked) + len(reply) > _LONGEST:
            break
        first = len(packed.tokens) + len(asked) - 1
        packed.tokens.extend(asked + reply)
        packed.positions.extend(range(start, start + len(asked) + len(reply)))
        packed.branch.extend([number] * (len(asked) + len(reply)))
        packed.places.extend(range(first, first + len(reply)))
        packed.wanted.extend(reply)
        packed.weights.extend([1 / len(reply)] * len(reply))
    return packed


def loss(model: Any, packed: Packed) -> Any:
    """The sum, over the branches of a tree, of the weighted mean loss of what is to be written."""
    import torch

    device = model.device
    branch = torch.tensor(packed.branch, device=device)
    earlier = torch.ones(len(branch), len(branch), dtype=torch.bool, device=device).tril()
    seen = earlier & ((branch[None, :] == 0) | (branch[None, :] == branch[:, None]))
    mask = torch.zeros(seen.shape, dtype=model.dtype, device=device)
    mask.masked_fill_(~seen, torch.finfo(model.dtype).min)
    with torch.autocast(device.type, torch.bfloat16, enabled=trains_in_bfloat16()):
        out = model(
            input_ids=torch.tensor([packed.tokens], device=device),
            attention_mask=mask[None, None],
            position_ids=torch.tensor([packed.positions], device=device),
            logits_to_keep=torch.tensor(packed.places, device=device),
            use_cache=False,
        )
    wanted = torch.tensor(packed.wanted, device=device)
    losses = torch.nn.functional.cross_entropy(out.logits[0].float(), wanted, reduction="none")
    return (losses * torch.tensor(packed.weights, device=device)).sum()


def train(
    trees: Sequence[Tree],
    base: Base,
    work: Path,
    *,
    seconds: float,
    rate: float = RATE,
    start: Path | None = None,
) -> Path:
    """Train on ``trees`` in their order, for ``seconds`` at most; returns the adapter's folder.

    ``start`` is an adapter in GGUF form to train further. The rate of learning falls with the time that is
    used, or the trees, whichever is nearer to its end.
    """
    import torch

    adapter = work / "adapter"
    if adapter.is_dir():
        return adapter
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(base.folder)
    model = _adapted(base)
    if start is not None:
        load_exported(model, start)
    learned = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=rate, weight_decay=0.0, betas=(0.9, 0.98))
    done, spent = _resumed(work, learned, optimiser)
    began = time.monotonic() - spent
    steps = math.ceil(len(trees) / TREES)
    for step in range(done, steps):
        spent = time.monotonic() - began
        progress = max(spent / seconds, step / steps)
        if progress >= 1:
            break
        for group in optimiser.param_groups:
            falling = 0.5 * (1 + math.cos(math.pi * progress))
            group["lr"] = rate * min(1.0, (step + 1) / _WARM_UP) * falling
        total = 0.0
        for tree in trees[step * TREES : (step + 1) * TREES]:
            packed = pack(tree, tokenizer)
            if not packed.places:  # the passages leave no room for a branch
                continue
            part = loss(model, packed) / (TREES * _BRANCHES)
            part.backward()
            total += float(part.detach())
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        with (work / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"step": step, "loss": round(total, 4), "seconds": int(spent)}) + "\n")
        if (step + 1) % _SAVE_EVERY == 0:
            _save(work, learned, optimiser, step + 1, time.monotonic() - began)
    write_adapter(model, base, work / ".unfinished")
    (work / ".unfinished").rename(adapter)
    return adapter


def _adapted(base: Base) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    weights = load_weights(base.folder).to("cuda" if torch.cuda.is_available() else "cpu")
    layers = weights.config.num_hidden_layers
    shape = LoraConfig(
        task_type="CAUSAL_LM",
        r=RANK,
        lora_alpha=2 * RANK,
        target_modules=_LINEAR,
        layers_to_transform=list(range(layers // 2, layers)),
        layers_pattern="layers",
    )
    return get_peft_model(weights, shape).train()


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
