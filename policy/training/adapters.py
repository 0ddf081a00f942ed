"""LoRA adapters of GGUF models: the base in Hugging Face's form to train on, and the file for llama.cpp.

The trainers want a folder, so the GGUF file is converted once, into a hidden folder beside the models that
is named for the file's sha256.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.library_loading import loading, trains_in_bfloat16
from models.protocols import ModelError
from policy.serving.folder import fingerprint
from traces.paths import models_dir

WEIGHTS: Final = "adapter_model.safetensors"
CONFIG: Final = "adapter_config.json"
_BASE: Final = "base_model_name_or_path"
_ARCHITECTURE: Final = "qwen2"
_PREFIX: Final = "base_model.model."


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


def avoid_cudnn_attention() -> None:
    """Have torch compute attention without cuDNN.

    With a mask, cuDNN's gave gradients that are not numbers, on an H100 with PyTorch 2.11.
    """
    import torch

    torch.backends.cuda.enable_cudnn_sdp(False)


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
        with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that no setting turns off
            model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float16, **where)
        # The trainers refuse "quantized" models by these; the weights are plain by now.
        model.hf_quantizer = None
        model.is_quantized = False
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(into)
        tokenizer.save_pretrained(into)


def export(adapter: Path, base: Path, out: Path) -> None:
    """Write the adapter that PEFT saved in a folder to ``out``, its matrices in 8 bits.

    Raises `ModelError` if the base is of an architecture that nothing is trained for, or lacks a layer.
    """
    from safetensors.numpy import load_file

    names = _layer_names(base)
    config = json.loads((adapter / CONFIG).read_text(encoding="utf-8"))
    matrices = {}
    for name, weight in load_file(adapter / WEIGHTS).items():
        layer, _, side = name.removeprefix(_PREFIX).removesuffix(".weight").rpartition(".lora_")
        there = names.get_name(f"{layer}.weight", try_suffixes=(".weight",))
        if there is None:
            raise ModelError(f"{base.name} has no layer {layer}.", "Train on the whole file of the base.")
        matrices[f"{there}.lora_{side.lower()}"] = weight
    write_exported(matrices, float(config["lora_alpha"]), out)


def _layer_names(base: Path) -> Any:
    """Maps Hugging Face's names of the base's layers to those of its GGUF file. Raises `ModelError`."""
    import gguf

    template = gguf.GGUFReader(base)
    architecture = template.fields["general.architecture"].contents()
    if architecture != _ARCHITECTURE:
        raise ModelError(f"{base.name} is a {architecture} model.", "Train on a Qwen2.5 model.")
    known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    blocks = template.fields[f"{architecture}.block_count"].contents()
    return gguf.get_tensor_name_map(known[architecture], blocks)


def fill(model: Any, adapter: Path, base: Path) -> None:
    """Set the adapter matrices of a PEFT model to those of an exported adapter of the same rank.

    Raises `ModelError` if the exported one has other matrices.
    """
    import torch

    matrices, alpha = read_exported(adapter)
    names = _layer_names(base)
    config = next(iter(model.peft_config.values()))
    factor = alpha / config.lora_alpha  # of a product, which llama.cpp and PEFT divide by the same rank
    with torch.no_grad():
        for name, weight in model.named_parameters():
            layer, _, side = name.removeprefix(_PREFIX).partition(".lora_")
            if not side:
                continue
            there = names.get_name(f"{layer}.weight", try_suffixes=(".weight",))
            matrix = matrices.get(f"{there}.lora_{side[0].lower()}")
            if matrix is None or matrix.shape != tuple(weight.shape):
                raise ModelError(
                    f"{adapter.name} is an adapter of another form.", "Train from the base instead."
                )
            weight.copy_(torch.tensor(matrix * (factor if side[0] == "B" else 1.0)))


def read_exported(file: Path) -> tuple[dict[str, Any], float]:
    """The matrices of an exported adapter, and its alpha."""
    import gguf

    reader = gguf.GGUFReader(file)
    alpha = float(reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())
    matrices = {one.name: gguf.quants.dequantize(one.data, one.tensor_type) for one in reader.tensors}
    return matrices, alpha


def write_exported(matrices: dict[str, Any], alpha: float, out: Path) -> None:
    """Write matrices, by their names in the file, as an adapter for llama.cpp."""
    import gguf

    fresh = out.with_name(f".{out.name}.unfinished")
    writer = gguf.GGUFWriter(fresh, _ARCHITECTURE)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    for name, weight in sorted(matrices.items()):
        data, kind = _packed(weight)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    fresh.replace(out)


def _packed(weight: Any) -> tuple[Any, Any]:
    """In blocks of 32 where a row is made of such, else in 16 bits: the B matrices' rows are the rank."""
    import gguf
    import numpy as np

    if weight.shape[1] % 32 == 0:
        kind = gguf.GGMLQuantizationType.Q8_0
        return gguf.quants.quantize(weight.astype(np.float32), kind), kind
    return weight.astype(np.float16), gguf.GGMLQuantizationType.F16
