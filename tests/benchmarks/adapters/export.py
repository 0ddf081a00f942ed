"""A LoRA adapter in PEFT's form as the GGUF file that llama.cpp reads beside its base, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from models.protocols import ModelError
from tests.benchmarks.adapters.base import CONFIG, WEIGHTS

_ARCHITECTURE: Final = "qwen2"
_A, _B = ".lora_a", ".lora_b"
_ALPHA: Final = 64.0  # of a blended adapter
_PREFIX: Final = "base_model.model."


def export(adapter: Path, base: Path, out: Path) -> None:
    """Write the adapter that PEFT saved in a folder to ``out``, its matrices in 8 bits.

    Raises:
        ModelError: the base is of an architecture that nothing is trained for, or has no such layer.
    """
    import gguf
    from safetensors.numpy import load_file

    template = gguf.GGUFReader(base)
    architecture = template.fields["general.architecture"].contents()
    if architecture != _ARCHITECTURE:
        raise ModelError(f"{base.name} is a {architecture} model.", "Train on a Qwen2.5 model.")
    known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    blocks = template.fields[f"{architecture}.block_count"].contents()
    names = gguf.get_tensor_name_map(known[architecture], blocks)
    config = json.loads((adapter / CONFIG).read_text(encoding="utf-8"))
    matrices = {}
    for name, weight in load_file(adapter / WEIGHTS).items():
        layer, side = _parts(name)
        there = names.get_name(f"{layer}.weight", try_suffixes=(".weight",))
        if there is None:
            raise ModelError(f"{base.name} has no layer {layer}.", "Train on the whole file of the base.")
        matrices[f"{there}.lora_{side.lower()}"] = weight
    _write(matrices, float(config["lora_alpha"]), out)


def blend(first: Path, second: Path, out: Path) -> None:
    """Write the mean of two exported adapters: their ranks beside one another, each at half its weight.

    Where one of them has no matrix, the other's counts half. Averaged weights often answer better than
    either (Wortsman et al. 2022, https://arxiv.org/abs/2203.05482).
    """
    import numpy as np

    adapters = [read_exported(file) for file in (first, second)]
    blended = {}
    for name in sorted({name for matrices, _ in adapters for name in matrices if name.endswith(_A)}):
        other = name.removesuffix(_A) + _B
        held = [(matrices, alpha) for matrices, alpha in adapters if name in matrices]
        blended[name] = np.concatenate([matrices[name] for matrices, _ in held])
        # llama.cpp multiplies by alpha over the rank, which grows.
        sides = [
            matrices[other] * (alpha / len(matrices[name]) / len(adapters)) for matrices, alpha in held
        ]
        blended[other] = np.concatenate(sides, axis=1) * (len(blended[name]) / _ALPHA)
    _write(blended, _ALPHA, out)


def read_exported(file: Path) -> tuple[dict[str, Any], float]:
    """The matrices of an exported adapter, and its alpha."""
    import gguf

    reader = gguf.GGUFReader(file)
    alpha = float(reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())
    matrices = {one.name: gguf.quants.dequantize(one.data, one.tensor_type) for one in reader.tensors}
    return matrices, alpha


def _write(matrices: dict[str, Any], alpha: float, out: Path) -> None:
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


def load_exported(model: Any, file: Path) -> None:
    """Put the matrices of an exported adapter into a PEFT model of the same shape.

    Raises:
        ModelError: the file lacks a matrix of the model.
    """
    import gguf
    import torch

    saved, _ = read_exported(file)
    architecture = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}[_ARCHITECTURE]
    names = gguf.get_tensor_name_map(architecture, model.config.num_hidden_layers)
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue
        layer, side = _parts(name.replace(".default", ""))
        matrix = saved.get(f"{names.get_name(f'{layer}.weight', ('.weight',))}.lora_{side.lower()}")
        if matrix is None:
            raise ModelError(
                f"{file.name} has no matrix for {layer}.", "Start from an adapter of this shape."
            )
        weight.data.copy_(torch.from_numpy(matrix.copy()).reshape(weight.shape))


def _parts(name: str) -> tuple[str, str]:
    """The layer that a PEFT matrix is for, and its side: A or B."""
    layer, _, side = name.removeprefix(_PREFIX).removesuffix(".weight").rpartition(".lora_")
    return layer, side


def _packed(weight: Any) -> tuple[Any, Any]:
    """In blocks of 32 where a row is made of such, else in 16 bits: the B matrices' rows are the rank."""
    import gguf
    import numpy as np

    if weight.shape[1] % 32 == 0:
        kind = gguf.GGMLQuantizationType.Q8_0
        return gguf.quants.quantize(weight.astype(np.float32), kind), kind
    return weight.astype(np.float16), gguf.GGMLQuantizationType.F16
