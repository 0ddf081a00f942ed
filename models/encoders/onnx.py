"""Embedders and rerankers on ONNX Runtime, one text at a time.

The weights are 8-bit, and the scale of the activations is computed over the whole input, padding
included: in a batch, a passage's score would depend on its neighbours. From a few hundred tokens on, a
batch is no faster on a CPU either.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from models.encoders import Recipe, onnx_file, read_recipe
from models.library_loading import library_errors, usable_threads
from models.protocols import ModelError, ModelMissing, Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

Outputs = dict[str, npt.NDArray[np.float32]]
"""A network's outputs by name, without the batch axis."""

_TOKENIZER: Final = "tokenizer.json"


class OnnxModel:
    """A network in a folder with its tokenizer, loaded on first use; ``what`` is its kind in messages.

    Threads run it in parallel, so a query does not wait for passages. Every method but `ready` raises
    `ModelMissing` if there is no such model in the folder, `ModelError` if it cannot be loaded or run.
    A text or pair of more than 512 tokens is truncated, the longer text of a pair first.
    """

    def __init__(self, folder: Path, what: str) -> None:
        self.folder = folder
        self._what = what
        self._loading_lock = threading.Lock()
        self._loaded: tuple[InferenceSession, Tokenizer] | None = None

    def ready(self) -> bool:
        return self._loaded is not None

    def encode(self, text: str, second: str | None = None) -> Encoding:
        """The tokens of a text, or of a pair, with their offsets."""
        encoding: Encoding = self._open()[1].encode(text, second)
        return encoding

    def run(self, encoding: Encoding) -> Outputs:
        """The outputs for one text or pair: ``(tokens, n)`` of a layer, ``(n,)`` of a head."""
        session, _ = self._open()
        features = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        names = [output.name for output in session.get_outputs()]
        with library_errors(self.folder, self._what, "does not run"):
            inputs = {
                node.name: np.asarray([features[node.name]], dtype=np.int64)
                for node in session.get_inputs()
            }
            outputs = session.run(names, inputs)
        return {name: array[0] for name, array in zip(names, outputs, strict=True)}

    def _open(self) -> tuple[InferenceSession, Tokenizer]:
        with self._loading_lock:
            if self._loaded is None:
                path = onnx_file(self.folder)
                if path is None or not (self.folder / _TOKENIZER).is_file():
                    raise ModelMissing(
                        f"{self.folder} holds no {self._what}: it takes a model.onnx and a {_TOKENIZER}.",
                        "Check the path in the settings, or pull a model with “deepthink models pull”.",
                    )
                with library_errors(self.folder, self._what, "could not be loaded"):
                    session = open_session(path, usable_threads())
                    self._loaded = session, _tokenizer(self.folder / _TOKENIZER)
            return self._loaded


def open_session(path: Path, threads: int) -> InferenceSession:
    """The network in a file, run with so many threads; raises what ONNX Runtime raises."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while waiting would take cores from a generating language model.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: warnings would draw over the app's screen
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(512, strategy="longest_first")
    tokenizer.no_padding()
    return tokenizer


class OnnxEmbedder(OnnxModel):
    """An `Embedder` on ONNX Runtime. Without a ``recipe`` it is read from the folder's files."""

    def __init__(self, folder: Path, name: str, recipe: Recipe | None = None) -> None:
        super().__init__(folder, "embedding model")
        self.name = name
        self._recipe = recipe

    def warm_up(self) -> None:
        self.embed_query("warm up")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        recipe = self._recipe or read_recipe(self.folder)
        return np.stack([self._vector(recipe.passage + text, recipe) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        recipe = self._recipe or read_recipe(self.folder)
        return self._vector(recipe.query + text, recipe)

    def _vector(self, text: str, recipe: Recipe) -> Vectors:
        layer = next(iter(self.run(self.encode(text)).values()))
        vector: Vectors = layer[0] if recipe.pooling == "cls" else layer.mean(axis=0)
        return (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)


class OnnxReranker(OnnxModel):
    """A `Reranker` that reads query and passage together; a score is the sigmoid of the logit."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "reranker")
        self.name = folder.name

    def warm_up(self) -> None:
        self.score("warm up", ["warm up"])

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        return [self._score(query, passage) for passage in passages]

    def _score(self, query: str, passage: str) -> float:
        outputs = list(self.run(self.encode(query, passage)).values())
        if len(outputs) != 1 or outputs[0].size != 1:
            raise ModelError(
                f"The model in {self.folder} does not give one score for a passage.",
                "Choose a cross-encoder that was trained for ranking.",
            )
        logit = float(outputs[0].item())
        return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))
