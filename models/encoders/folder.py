"""Read the files in a model's folder: which network it has, how texts and vectors are made."""

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
    """How the tokens' vectors become one, and the prefixes of queries and passages."""

    pooling: Pooling
    query: str = ""
    passage: str = ""


def onnx_file(folder: Path) -> Path | None:
    """The ONNX network in ``folder``, at one of the usual paths; None if there is none."""
    return next((folder / path for path in _PLACES if (folder / path).is_file()), None)


def is_onnx(folder: Path) -> bool:
    """Whether the folder has a network for ONNX Runtime and no weights for torch."""
    torch = any((folder / name).is_file() for name in ("model.safetensors", "pytorch_model.bin"))
    return not torch and onnx_file(folder) is not None


def read_recipe(folder: Path) -> Recipe:
    """The recipe in the files of sentence-transformers in ``folder``.

    Raises:
        ModelError: the files do not define the pooling, or define an unknown one.
    """
    modes = _json(folder / _POOLING) or {}
    mode = modes.get("pooling_mode") or [key for key, enabled in modes.items() if enabled is True]
    keys = [mode] if isinstance(mode, str) else [str(key).removeprefix("pooling_mode_") for key in mode]
    poolings = [_POOLINGS.get(name) for name in keys if name != "include_prompt"]
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
    """Length of an embedder's vectors according to the last module that sets it; None if unclear.

    Several poolings are concatenated into a longer vector, whose length only the library computes.
    """
    modules = [folder / module.get("path", "") for module in _json(folder / "modules.json") or []]
    for module_folder in reversed([folder, *modules]):
        config = _json(module_folder / "config.json") or {}
        poolings = [key for key, enabled in config.items() if key.startswith("pooling_mode_") and enabled]
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
