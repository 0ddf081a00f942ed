"""Adapters on a base: low-rank weights (LoRA), kept as safetensors and JSON."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from policy.training.causal.base import CausalBase, load_weights, precision

RANK: Final = 8
WEIGHTS: Final = "adapter_model.safetensors"
CONFIG: Final = "adapter_config.json"
_BASE: Final = "base_model_name_or_path"


def fresh(base: CausalBase, seed: int) -> Any:
    """The base with an adapter that changes nothing yet, on every layer but the embedding.

    Raises:
        ModelMissing, ModelError: the base cannot be loaded.
    """
    weights = load_weights(base.folder)
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    shape = LoraConfig(
        task_type="CAUSAL_LM",
        r=RANK,
        lora_alpha=2 * RANK,
        lora_dropout=0.05,
        target_modules="all-linear",  # PEFT leaves the output layer out of that
    )
    return get_peft_model(weights, shape)


def to_train(base: CausalBase, adapter: Path) -> Any:
    """The base with the adapter in the folder ``adapter``, to train it further.

    Raises:
        ModelMissing, ModelError: the base cannot be loaded.
        OSError, ValueError: the adapter cannot be read.
    """
    return _opened(base, adapter, load_weights(base.folder), trainable=True)


def merged(base: CausalBase, adapter: Path, *, exact: bool = False) -> Any:
    """The base with the adapter added to its weights, which halves the time of a decision.

    Added in 32 bits; what is computed with has the precision that this machine is fastest at.

    Args:
        base: What it adapts.
        adapter: Its folder, as `write` left it.
        exact: To compute in 32 bits, whatever is fastest.

    Raises:
        ModelMissing, ModelError: the base cannot be loaded.
        OSError, ValueError: the adapter cannot be read.
    """
    whole = _opened(base, adapter, load_weights(base.folder, exact=True)).merge_and_unload()
    return whole if exact else whole.to(precision())


def layers(adapter: Path) -> list[str]:
    """Names of the base's layers that an adapter changes."""
    from safetensors import safe_open

    with safe_open(adapter / WEIGHTS, framework="pt") as file:
        return sorted({_layer(name) for name in file.keys()})  # noqa: SIM118 - no mapping


def write(model: Any, base: CausalBase, folder: Path) -> None:
    """The trained adapter of ``model``, without a path of this machine in it."""
    # The trainers may hold a second one, the reference; and the vocabulary is never adapted.
    model.save_pretrained(str(folder), selected_adapters=["default"], save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)  # PEFT's empty form; a policy has a card of its own
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config[_BASE] = base.name
    (folder / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def digest(adapter: Path) -> str:
    """sha256 of an adapter's weights."""
    return hashlib.sha256((adapter / WEIGHTS).read_bytes()).hexdigest()


def _opened(base: CausalBase, adapter: Path, weights: Any, *, trainable: bool = False) -> Any:
    from peft import PeftConfig, PeftModel

    config = PeftConfig.from_pretrained(str(adapter))
    config.base_model_name_or_path = str(base.folder)  # PEFT looks there before it saves again
    return PeftModel.from_pretrained(weights, str(adapter), config=config, is_trainable=trainable)


def _layer(name: str) -> str:
    return name.removeprefix("base_model.model.").partition(".lora_")[0]
