"""Embedders and rerankers from a folder: on ONNX Runtime, or on sentence-transformers with torch.

A folder with an ONNX network and no weights for torch runs on ONNX Runtime, which starts in a tenth of
the time. How texts and vectors are made is read from the folder's small JSON files.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from models.catalogue import BGE_SMALL_EN, CATALOGUE, MULTILINGUAL_E5_SMALL, ModelEntry
from models.protocols import Embedder, ModelError, Reranker

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
_SAMPLES: Final = 16
_SAMPLE_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the tokens' vectors become one, and the prefixes of queries and passages."""

    pooling: Pooling
    query: str = ""
    passage: str = ""


_RECIPES: Final = {  # of the catalogue's ONNX embedders, from their model cards
    BGE_SMALL_EN.name: Recipe("cls", query="Represent this sentence for searching relevant passages: "),
    MULTILINGUAL_E5_SMALL.name: Recipe("mean", query="query: ", passage="passage: "),
}


def open_embedder(folder: Path) -> Embedder:
    """The embedder in ``folder``, not yet loaded, under a name unique to its weights.

    A catalogue model has its catalogue name. Any other folder's name is followed by a fingerprint of
    its weights: vectors of two fine-tunings in folders of the same name must not be mixed.
    """
    in_catalogue = any(_matches(folder, entry) for entry in CATALOGUE if entry.role == "embedder")
    name = folder.name if in_catalogue else f"{folder.name}@{_fingerprint(folder)}"
    if is_onnx(folder):
        from models.encoders.onnx import OnnxEmbedder

        return OnnxEmbedder(folder, name, _RECIPES.get(name))
    from models.encoders.sentence_transformers import LocalEmbedder

    return LocalEmbedder(folder, name)


def open_reranker(folder: Path) -> Reranker:
    """The reranker in ``folder``, not yet loaded."""
    if is_onnx(folder):
        from models.encoders.onnx import OnnxReranker

        return OnnxReranker(folder)
    from models.encoders.sentence_transformers import CrossEncoderReranker

    return CrossEncoderReranker(folder)


def _matches(folder: Path, entry: ModelEntry) -> bool:
    """Whether ``folder`` and its files have the name and the sizes in the catalogue."""
    sizes = {file.path: file.size for file in entry.files}
    return folder.name == entry.name and all(
        (folder / path).is_file() and (folder / path).stat().st_size == size for path, size in sizes.items()
    )


def _fingerprint(folder: Path) -> str:
    """Eight hex digits from the sizes of the weight files and samples of their bytes.

    Reading a large model completely just to name it would take seconds at each start.
    """
    digest = hashlib.sha256()
    kinds = ("*.onnx",) if is_onnx(folder) else ("*.safetensors", "*.bin")
    for path in sorted(weights for kind in kinds for weights in folder.rglob(kind)):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()} {size}\n".encode())
        with path.open("rb") as stream:
            for number in range(_SAMPLES):
                stream.seek(size * number // _SAMPLES)
                digest.update(stream.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:8]


def onnx_file(folder: Path) -> Path | None:
    """The ONNX network in ``folder``, at one of the usual paths; None if there is none."""
    return next((folder / path for path in _PLACES if (folder / path).is_file()), None)


def is_onnx(folder: Path) -> bool:
    """Whether the folder has a network for ONNX Runtime and no weights for torch."""
    torch = any((folder / name).is_file() for name in ("model.safetensors", "pytorch_model.bin"))
    return not torch and onnx_file(folder) is not None


def read_recipe(folder: Path) -> Recipe:
    """The recipe in the files of sentence-transformers in ``folder``.

    Raises `ModelError` if the files do not define the pooling, or define an unknown one.
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


def _json(path: Path) -> Any:
    """The JSON in ``path``; None if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
