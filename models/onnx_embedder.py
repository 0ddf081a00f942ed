"""Sentence vectors on ONNX Runtime: what goes before a text, and how its tokens' vectors become one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from models.onnx_model import OnnxModel
from models.protocols import ModelError, Vectors

Pooling = Literal["cls", "mean"]

_PROMPTS: Final = "config_sentence_transformers.json"
_POOLING: Final = "1_Pooling/config.json"
_MODULES: Final = "modules.json"
_KNOWN_MODULES: Final = {"Transformer", "Pooling", "Normalize"}
_POOLINGS: Final[dict[str, Pooling]] = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model wants its texts, and its vector to be taken.

    Attributes:
        pooling: The first token's vector, or the mean of all.
        query: What goes before a query.
        passage: What goes before a passage.
    """

    pooling: Pooling
    query: str = ""
    passage: str = ""


class OnnxEmbedder:
    """An `Embedder` on ONNX Runtime. Thread-safe; threads run side by side.

    Args:
        folder: The network and its tokenizer; they are read on first use.
        name: Identity of the vectors.
        recipe: How the model wants its texts; what the folder's sentence-transformers files say if None.
    """

    def __init__(self, folder: Path, name: str, recipe: Recipe | None = None) -> None:
        self._model = OnnxModel(folder, "embedding model")
        self._name = name
        self._given = recipe

    @property
    def name(self) -> str:
        """Identity of the vectors."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of each vector; runs the model where its configuration does not say.

        Raises:
            ModelMissing: The model is not there.
            ModelError: It cannot be loaded.
        """
        told = (_json(self._model.folder / "config.json") or {}).get("hidden_size")
        return told if isinstance(told, int) else len(self.embed_query("?"))

    def ready(self) -> bool:
        """Whether the model is loaded, so that the next call is quick."""
        return self._model.ready()

    def warm_up(self) -> None:
        """Load the model and run it once; meant for a worker thread.

        Raises:
            ModelMissing: The model is not there.
            ModelError: It cannot be loaded.
        """
        self.embed_query("warm up")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), dimensions)``, float32, unit length.

        Raises:
            ModelMissing: The model is not there.
            ModelError: It cannot be loaded, or the folder does not say how its vector is to be taken.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        recipe = self._recipe()
        return np.stack([self._vector(recipe.passage + text, recipe.pooling) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape ``(dimensions,)``, float32, unit length.

        Raises:
            ModelMissing: The model is not there.
            ModelError: It cannot be loaded, or the folder does not say how its vector is to be taken.
        """
        recipe = self._recipe()
        return self._vector(recipe.query + text, recipe.pooling)

    def _recipe(self) -> Recipe:
        return self._given or read_recipe(self._model.folder)

    def _vector(self, text: str, pooling: Pooling) -> Vectors:
        layer = next(iter(self._model.run(self._model.encode(text)).values()))
        vector: Vectors = layer[0] if pooling == "cls" else layer.mean(axis=0)
        return (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)


def read_recipe(folder: Path) -> Recipe:
    """The recipe that the files of sentence-transformers in ``folder`` tell.

    Raises:
        ModelError: they do not tell how the vectors of the tokens become one, or by a way unknown here.
    """
    modes = _json(folder / _POOLING) or {}
    told = modes.get("pooling_mode") or [key for key, on in modes.items() if on is True]
    named = [told] if isinstance(told, str) else [str(key).removeprefix("pooling_mode_") for key in told]
    found = [_POOLINGS.get(name) for name in named if name != "include_prompt"]
    further = {str(module.get("type")).rpartition(".")[2] for module in _json(folder / _MODULES) or []}
    if len(found) != 1 or found[0] is None or not further <= _KNOWN_MODULES:
        raise ModelError(
            f"The files of the embedding model in {folder} do not say that its vector is the first token's "
            "or the mean of all.",
            f"Put the model's own {_POOLING} there, or choose another embedder.",
        )
    prompts = (_json(folder / _PROMPTS) or {}).get("prompts") or {}
    passage = prompts.get("document") or prompts.get("passage") or ""
    return Recipe(found[0], str(prompts.get("query") or ""), str(passage))


def _json(path: Path) -> Any:
    """The JSON in ``path``; None where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
