"""A causal policy as one GGUF file, and as a Modelfile, for llama.cpp and Ollama.

The base's own GGUF file is the template: its vocabulary, its settings and every tensor that the adapter
left alone go over as they are, byte for byte. Only what the adapter changed is written anew, in 16 bits.
So no converter is needed, and nothing is quantised twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from models.protocols import ModelError
from policy.training.causal import adapters
from policy.training.causal.base import CausalBase, open_base
from policy.training.causal.prompt import QUESTION

_PERMUTED: Final = {"llama": ("attn_q", "attn_k")}
"""Layers whose rows llama.cpp holds in the order of its own rotary embedding, by architecture."""

_DROPPED: Final = ("general.file_type", "general.name", "tokenizer.chat_template")


def export_gguf(folder: Path, base: Path | None, out: Path) -> Path:
    """Write the policy in ``folder``, merged with its base, to the GGUF file ``out``, which is returned.

    Args:
        folder: As `policy.training.causal.scorer.CausalScorer.save` wrote it.
        base: The GGUF file that the policy was trained on; None for the default one.
        out: Replaced if it is there.

    Raises:
        ModelError: the base is no GGUF file, or of an architecture that is not known here.
        ModelMissing: the base is not there.
        OSError: the disk is full or failed.
    """
    ground = open_base(base)
    if ground.gguf is None:
        raise ModelError(
            f"{ground.name} is a folder; the export needs the GGUF file of the base.",
            "Train on a GGUF file: `deepthink train-policy --base FILE.gguf`.",
        )
    from gguf import GGUFReader, GGUFWriter

    template = GGUFReader(ground.gguf)
    architecture = template.fields["general.architecture"].contents()
    changed = _changed(folder, ground, template, architecture)
    fresh = out.with_name(f".{out.name}.unfinished")
    try:
        writer = GGUFWriter(fresh, architecture)
        _copy_settings(template, writer, f"deepthink policy on {ground.name}")
        tensors = [changed.get(t.name, (t.data, t.tensor_type)) for t in template.tensors]
        for told, (data, kind) in zip(template.tensors, tensors, strict=True):
            writer.add_tensor_info(told.name, data.shape, data.dtype, data.nbytes, kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for data, _ in tensors:
            writer.write_tensor_data(data)
        writer.close()
        fresh.replace(out)
    finally:
        fresh.unlink(missing_ok=True)
    return out


def modelfile(gguf: str) -> str:
    """An Ollama Modelfile for an exported policy: the prompt is a state text, the answer one letter.

    Args:
        gguf: Name of the exported file, in the Modelfile's own folder.
    """
    return f'''\
# A decision policy: give it a state text, it answers C (continue), R (revise) or F (finish).
FROM ./{gguf}
TEMPLATE """{{{{ .Prompt }}}}{QUESTION}"""
PARAMETER temperature 0
PARAMETER num_predict 1
PARAMETER num_ctx 512
'''


def _changed(
    folder: Path, base: CausalBase, template: Any, architecture: str
) -> dict[str, tuple[Any, Any]]:
    """What the adapter changed, by the names of llama.cpp: data and kind as they are written."""
    import gguf

    known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    if architecture not in ("llama", "qwen2"):
        raise ModelError(
            f"The export does not know how llama.cpp holds a model of the kind {architecture}.",
            "Train on SmolLM2, Llama or Qwen2.5.",
        )
    plain = adapters.merged(base, folder, exact=True)
    heads = {"attn_q": plain.config.num_attention_heads, "attn_k": plain.config.num_key_value_heads}
    names = gguf.get_tensor_name_map(known[architecture], plain.config.num_hidden_layers)
    there = {tensor.name for tensor in template.tensors}
    made: dict[str, tuple[Any, Any]] = {}
    for layer in adapters.layers(folder):
        data = plain.get_submodule(layer).weight.detach().numpy()
        name = names.get_name(f"{layer}.weight", try_suffixes=(".weight",))
        if name is None or name not in there:
            raise ModelError(f"{base.gguf} has no layer {layer}.", "Train on the whole file of the base.")
        kind = name.split(".")[-2]
        if kind in _PERMUTED.get(architecture, ()):
            data = _permuted(data, heads[kind])
        made[name] = (data.astype(np.float16), gguf.GGMLQuantizationType.F16)
    return made


def _permuted(weight: Any, heads: int) -> Any:
    """Rows (heads, halves, rest) as llama.cpp has them for its rotary embedding: (heads, rest, halves)."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _copy_settings(template: Any, writer: Any, name: str) -> None:
    """Everything the template says of itself and of its vocabulary, but for what is no longer true."""
    from gguf import GGUFValueType, LlamaFileType

    for field in template.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture" or field.name in _DROPPED:
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)
    writer.add_name(name)
    writer.add_file_type(LlamaFileType.MOSTLY_F16)
