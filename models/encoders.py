"""Embedders and rerankers from a folder, on the CPU by ONNX Runtime, or by sentence-transformers and torch.

A folder with an ONNX network and no weights for torch runs on ONNX Runtime, which starts in a tenth of
the time. How texts and vectors are made is read from the folder's small JSON files.

ONNX Runtime gets one text at a time. The weights are 8-bit, and the scale of the activations is computed
over the whole input, padding included: in a batch, a passage's score would depend on its neighbours. From a
few hundred tokens on, a batch is no faster on a CPU either.

All methods raise `ModelMissing` if there is no such model in the folder, `ModelError` if it cannot be
loaded or run.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from models.catalogue import BGE_SMALL_EN, CATALOGUE, MULTILINGUAL_E5_SMALL
from models.library_loading import library_errors, loading, usable_threads
from models.protocols import Embedder, ModelError, ModelMissing, Reranker, Vectors
from models.token_estimate import at_most

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

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
_TOKENIZER: Final = "tokenizer.json"
REMEMBERED: Final = 512
"""Scores that are kept: a passage of a question's first look is read again in its own step."""
# Batch sizes for torch: larger ones exceed the processor's caches, and padding costs more than they save.
_TEXTS: Final = 8
_PAIRS: Final = 4

Outputs = dict[str, npt.NDArray[np.float32]]
"""A network's outputs by name, without the batch axis."""


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
    in_catalogue = any(
        folder.name == entry.name and all(file.is_in(folder) for file in entry.files)
        for entry in CATALOGUE
        if entry.role == "embedder"
    )
    name = folder.name if in_catalogue else f"{folder.name}@{_fingerprint(folder)}"
    if is_onnx(folder):
        return OnnxEmbedder(folder, name, _RECIPES.get(name))
    return LocalEmbedder(folder, name)


def open_reranker(folder: Path) -> Reranker:
    """The reranker in ``folder``, not yet loaded."""
    return OnnxReranker(folder) if is_onnx(folder) else CrossEncoderReranker(folder)


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


class FolderModel(ABC):
    """A model in a folder, loaded on first use; ``what`` is its kind in messages."""

    def __init__(self, folder: Path, what: str, name: str = "") -> None:
        self.name = name or folder.name
        self._folder = folder
        self._what = what
        self._lock = threading.RLock()
        self._loaded: Any = None

    def warm_up(self) -> None:
        self._model()

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    @abstractmethod
    def _load(self) -> Any:
        """Load the model."""


# --- on ONNX Runtime -----------------------------------------------------------------------------


class OnnxModel(FolderModel):
    """A network with its tokenizer.

    Threads run it in parallel, so a query does not wait for passages. A text or pair of more than 512
    tokens is truncated, the longer text of a pair first.
    """

    def encode(self, text: str, second: str | None = None) -> Encoding:
        """The tokens of a text, or of a pair, with their offsets."""
        encoding: Encoding = self._model()[1].encode(text, second)
        return encoding

    def run(self, encoding: Encoding) -> Outputs:
        """The outputs for one text or pair: ``(tokens, n)`` of a layer, ``(n,)`` of a head."""
        session, _ = self._model()
        features = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        names = [output.name for output in session.get_outputs()]
        with library_errors(self._folder, self._what, "does not run"):
            inputs = {
                node.name: np.asarray([features[node.name]], dtype=np.int64)
                for node in session.get_inputs()
            }
            outputs = session.run(names, inputs)
        return {name: array[0] for name, array in zip(names, outputs, strict=True)}

    def _load(self) -> tuple[InferenceSession, Tokenizer]:
        path = onnx_file(self._folder)
        if path is None or not (self._folder / _TOKENIZER).is_file():
            raise ModelMissing(
                f"{self._folder} holds no {self._what}: it takes a model.onnx and a {_TOKENIZER}.",
                "Check the path in the settings, or pull a model with “deepthink models pull”.",
            )
        with library_errors(self._folder, self._what, "could not be loaded"):
            return open_session(path, usable_threads()), _tokenizer(self._folder / _TOKENIZER)


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
        super().__init__(folder, "embedding model", name)
        self._recipe = recipe

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        recipe = self._recipe or read_recipe(self._folder)
        return np.stack([self._vector(recipe.passage + text, recipe) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        recipe = self._recipe or read_recipe(self._folder)
        return self._vector(recipe.query + text, recipe)

    def _vector(self, text: str, recipe: Recipe) -> Vectors:
        layer = next(iter(self.run(self.encode(text)).values()))
        vector: Vectors = layer[0] if recipe.pooling == "cls" else layer.mean(axis=0)
        return (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)


class OnnxReranker(OnnxModel):
    """A `Reranker` that reads query and passage together; a score is the sigmoid of the logit."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "reranker")
        self._remembered = lru_cache(REMEMBERED)(self._score)

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        return [self._remembered(query, passage) for passage in passages]

    def _score(self, query: str, passage: str) -> float:
        outputs = list(self.run(self.encode(query, passage)).values())
        if len(outputs) != 1 or outputs[0].size != 1:
            raise ModelError(
                f"The model in {self._folder} does not give one score for a passage.",
                "Choose a cross-encoder that was trained for ranking.",
            )
        logit = float(outputs[0].item())
        return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))


# --- on sentence-transformers, which takes seconds to import -------------------------------------


class LocalEmbedder(FolderModel):
    """An `Embedder`; a query from another thread waits for at most one batch of passages."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, "embedding model", name)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        # A batch is as slow as its longest text, so texts of similar length share one. Length in tokens:
        # a table of figures has several times as many as prose of the same length.
        order = sorted(range(len(texts)), key=lambda index: at_most(texts[index]))
        vectors: Vectors = np.empty((len(texts), 0), dtype=np.float32)
        for start in range(0, len(order), _TEXTS):
            batch = order[start : start + _TEXTS]
            with self._lock:
                encoded = _encode(self._model().encode_document, [texts[index] for index in batch])
            # Without a pause this thread would reacquire the lock before a waiting one wakes up.
            time.sleep(0.001)
            if not start:
                vectors = np.empty((len(texts), encoded.shape[1]), dtype=np.float32)
            vectors[batch] = encoded
        return vectors

    def embed_query(self, text: str) -> Vectors:
        with self._lock:
            vector: Vectors = _encode(self._model().encode_query, [text])[0]
        return vector

    def _load(self) -> Any:
        with loading(self._folder, self._what):
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)


def _encode(encode: Callable[..., Any], texts: list[str]) -> Vectors:
    encoded = encode(
        texts, batch_size=_TEXTS, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
    )
    vectors: Vectors = np.asarray(encoded, dtype=np.float32)
    return vectors


class CrossEncoderReranker(FolderModel):
    """A `Reranker` that reads query and passage together.

    Scores are the sigmoid of the model's logit, applied once whatever the folder's configuration.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "reranker")

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        with self._lock:
            model = self._model()
            from torch import nn

            scores = model.predict(
                [(query, passage) for passage in passages],
                batch_size=_PAIRS,
                show_progress_bar=False,
                activation_fn=nn.Sigmoid(),
                convert_to_numpy=True,
            )
        return [float(score) for score in scores]

    def _load(self) -> Any:
        with loading(self._folder, self._what):
            from sentence_transformers import CrossEncoder

            model = CrossEncoder(str(self._folder), device="cpu", local_files_only=True)
        if model.num_labels != 1:
            raise ModelError(
                f"The cross-encoder in {self._folder} has {model.num_labels} outputs; a reranker has one.",
                "Choose a cross-encoder that was trained for ranking.",
            )
        return model
