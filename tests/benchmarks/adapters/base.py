"""The base of an adapter in Hugging Face's form, and LoRA adapters on it.

The trainers want a folder, so the GGUF file is converted once, into a hidden folder beside the models that
is named for the file's sha256.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.library_loading import loading, trains_in_bfloat16
from policy.serving.folder import fingerprint
from traces.paths import models_dir

WEIGHTS: Final = "adapter_model.safetensors"
CONFIG: Final = "adapter_config.json"
_BASE: Final = "base_model_name_or_path"


@dataclass(frozen=True, slots=True)
class Base:
    """A base that can be trained on: the GGUF file, and the folder of Hugging Face's form of it."""

    gguf: Path
    folder: Path


def open_base(gguf: Path) -> Base:
    """The base of a GGUF file, converted if that was not done before. Raises `ModelError` or `OSError`."""
    place = models_dir() / ".converted" / fingerprint(gguf)[:16]
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as fresh:
            _convert(gguf, Path(fresh))
            shutil.copytree(fresh, place)
    return Base(gguf, place)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a base, padding on the left. Raises `ModelError`."""
    with loading(folder, "base model"):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_weights(folder: Path, *, exact: bool = False) -> Any:
    """The model of a base, in the precision that this machine computes fastest, or in 32 bits."""
    with loading(folder, "base model"):
        import torch
        from transformers import AutoModelForCausalLM

        fast = torch.bfloat16 if trains_in_bfloat16() else torch.float32
        return AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32 if exact else fast
        )


def with_adapter(base: Base, adapter: Path) -> Any:
    """The base with the adapter in ``adapter``, to compute in 32 bits."""
    weights = load_weights(base.folder, exact=True)
    from peft import PeftModel

    return PeftModel.from_pretrained(weights, str(adapter))


def write_adapter(model: Any, base: Base, folder: Path) -> None:
    """Write the trained adapter of ``model``, without a path of this machine in it."""
    # The vocabulary is never adapted.
    model.save_pretrained(str(folder), save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)  # PEFT's empty form
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config[_BASE] = base.gguf.stem
    (folder / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _convert(file: Path, into: Path) -> None:
    """Write the GGUF file's model into ``into`` in Hugging Face's form, de-quantised, in 16 bits."""
    (into / "config.json").write_text("{}", encoding="utf-8")  # `loading` looks for one; replaced below
    with loading(into, f"model of {file}"):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        where = {"gguf_file": file.name, "local_files_only": True}
        tokenizer = AutoTokenizer.from_pretrained(file.parent, **where)
        # A four-bit weight is a 16-bit number times a small integer: float16 keeps nearly all of it.
        model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float16, **where)
        # The trainers refuse "quantized" models by these; the weights are plain by now.
        model.hf_quantizer = None
        model.is_quantized = False
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(into)
        tokenizer.save_pretrained(into)
