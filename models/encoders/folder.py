"""What the files in a model's folder say: which network, how its texts and vectors are made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from models.protocols import ModelError

Pooling = Literal["cls", "mean"]

_PLACES: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_POOLING: Final = "1_Pooling/config.json"
_KNOWN_MODULES: Final = {"Transformer", "Pooling", "Normalize"}
_POOLINGS: Final[dict[str, Pooling]] = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an embedder's vector is taken from its tokens', and what goes before a query and a passage."""

    pooling: Pooling
    query: str = ""
    passage: str = ""


def onnx_file(folder: Path) -> Path | None:
    """The ONNX network in ``folder``, where exporters put it; None if there is none."""
    return next((folder / place for place in _PLACES if (folder / place).is_file()), None)


def is_onnx(folder: Path) -> bool:
    """Whether the folder has a network for ONNX Runtime and no weights for torch."""
    torch = any((folder / name).is_file() for name in ("model.safetensors", "pytorch_model.bin"))
    return not torch and onnx_file(folder) is not None


def read_recipe(folder: Path) -> Recipe:
    """The recipe in the files of sentence-transformers in ``folder``.

    Raises:
        ModelError: they do not say how the vectors of the tokens become one, or by a way unknown here.
    """
    modes = _json(folder / _POOLING) or {}
    mode = modes.get("pooling_mode") or [key for key, on in modes.items() if on is True]
    named = [mode] if isinstance(mode, str) else [str(key).removeprefix("pooling_mode_") for key in mode]
    poolings = [_POOLINGS.get(name) for name in named if name != "include_prompt"]
    modules = {
        str(module.get("type")).rpartition(".")[2] for module in _json(folder / "modules.json") or []
    }
    if len(poolings) != 1 or poolings[0] is None or not modules <= _KNOWN_MODULES:
        raise ModelError(
            f"The files of the embedding model in {folder} do not say that its vector is the first token's "
            "or the mean of all.",
            f"Put the model's own {_POOLING} there, or choose another embedder.",
        )
    prompts = (_json(folder / "config_sentence_transformers.json") or {}).get("prompts") or {}
    passage = prompts.get("document") or prompts.get("passage") or ""
    return Recipe(poolings[0], str(prompts.get("query") or ""), str(passage))


def read_dimensions(folder: Path) -> int | None:
    """Length of an embedder's vectors as the last module that sets it says; None if that is unclear.

    Several poolings at once are joined into one longer vector, which only the library works out.
    """
    modules = [folder / module.get("path", "") for module in _json(folder / "modules.json") or []]
    for place in reversed([folder, *modules]):
        config = _json(place / "config.json") or {}
        poolings = [key for key, on in config.items() if key.startswith("pooling_mode_") and on]
        if len(poolings) > 1 or isinstance(config.get("pooling_mode"), list):
            return None
        for key in ("out_features", "embedding_dimension", "word_embedding_dimension", "hidden_size"):
            if isinstance(config.get(key), int):
                return int(config[key])
    return None


def _json(path: Path) -> Any:
    """The JSON in ``path``; None if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
