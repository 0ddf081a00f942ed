"""Embedders and rerankers on sentence-transformers, on this machine's CPU.

The library takes seconds to import, so an embedder's name and the length of its vectors come from the
folder's small JSON files. Models raise `ModelMissing` if their folder is missing, `ModelError` if they
cannot be loaded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.library_loading import loading
from models.protocols import ModelError, Vectors
from models.token_estimate import at_most

# Batch sizes: larger batches exceed the processor's caches, and padding costs more than they save.
_TEXTS: Final = 8
_PAIRS: Final = 4


class LocalEmbedder:
    """An `Embedder` that runs a sentence-transformers model, loaded on first use.

    Thread-safe. A query from another thread waits for at most one batch of passages.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._model: Any = None
        self._running = threading.Lock()

    def ready(self) -> bool:
        return self._model is not None

    def warm_up(self) -> None:
        self.embed_query("warm up")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        # A batch is as slow as its longest text, so texts of similar length share one. Length in tokens:
        # a table of figures has several times as many as prose of the same length.
        order = sorted(range(len(texts)), key=lambda index: at_most(texts[index]))
        vectors: Vectors = np.empty((len(texts), 0), dtype=np.float32)
        for start in range(0, len(order), _TEXTS):
            batch = order[start : start + _TEXTS]
            with self._running:
                encoded = _encode(self._load().encode_document, [texts[index] for index in batch])
            # Without a pause this thread would reacquire the lock before a waiting one wakes up.
            time.sleep(0.001)
            if not start:
                vectors = np.empty((len(texts), encoded.shape[1]), dtype=np.float32)
            vectors[batch] = encoded
        return vectors

    def embed_query(self, text: str) -> Vectors:
        with self._running:
            vector: Vectors = _encode(self._load().encode_query, [text])[0]
        return vector

    def _load(self) -> Any:
        """The model; the caller holds the lock."""
        if self._model is None:
            with loading(self._folder, "embedding model"):
                from sentence_transformers import SentenceTransformer

                self._model = SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
        return self._model


def _encode(encode: Callable[..., Any], texts: list[str]) -> Vectors:
    encoded = encode(
        texts, batch_size=_TEXTS, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
    )
    vectors: Vectors = np.asarray(encoded, dtype=np.float32)
    return vectors


class CrossEncoderReranker:
    """A `Reranker` that reads query and passage together, loaded on first use. Thread-safe.

    Scores are the sigmoid of the model's logit, applied once whatever the folder's configuration.
    """

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._folder = folder
        self._model: Any = None
        self._running = threading.Lock()

    def ready(self) -> bool:
        return self._model is not None

    def warm_up(self) -> None:
        self.score("warm up", ["warm up"])

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        with self._running:
            model = self._load()
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
        """The model; the caller holds the lock."""
        if self._model is None:
            with loading(self._folder, "reranker"):
                from sentence_transformers import CrossEncoder

                model = CrossEncoder(str(self._folder), device="cpu", local_files_only=True)
                if model.num_labels != 1:
                    raise ModelError(
                        f"The cross-encoder in {self._folder} has {model.num_labels} outputs; a "
                        "reranker has one.",
                        "Choose a cross-encoder that was trained for ranking.",
                    )
                self._model = model
        return self._model
