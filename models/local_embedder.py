"""Sentence vectors on this machine's CPU, from any sentence-transformers folder.

sentence-transformers takes seconds to import, so everything up to the first vector works without
it: the name and the length of the vectors come from the folder's small JSON files.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.library_loading import loading
from models.protocols import Vectors
from models.token_estimate import at_most

_BATCH: Final = 8  # of like length; 32 leave the processor's caches and take a quarter more of its time


class LocalEmbedder:
    """An `Embedder` that runs a sentence-transformers model on the CPU.

    Thread-safe. A long list of passages does not keep a query from another thread waiting for more
    than one batch.

    Args:
        folder: A sentence-transformers folder; it is read on first use.
        name: Identity of the vectors; `models.model_folder.open_embedder` makes one up that tells folders
            apart.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._model: Any = None
        self._dimensions: int | None = None
        self._using = threading.Lock()

    @property
    def name(self) -> str:
        """Identity of the vectors."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of each vector; loads the model only if its configuration does not say.

        Raises:
            ModelMissing: The folder is not there.
            ModelError: The model has to be loaded and cannot be.
        """
        if self._dimensions is None:
            self._dimensions = _configured_dimensions(self._folder)
        if self._dimensions is None:
            self._dimensions = len(self.embed_query("?"))
        return self._dimensions

    def ready(self) -> bool:
        """Whether the model is loaded, so that the next call is quick."""
        return self._model is not None

    def warm_up(self) -> None:
        """Load the model and run it once; meant for a worker thread (4 to 8 seconds).

        Raises:
            ModelMissing: The folder is not there.
            ModelError: The model cannot be loaded.
        """
        self.embed_query("warm up")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), dimensions)``, float32, unit length.

        Raises:
            ModelMissing: The folder is not there.
            ModelError: The model cannot be loaded.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        # A batch is as slow as its longest text, so texts of like length share one. Length in tokens:
        # a table of figures has several times as many of them as prose with as many letters.
        order = sorted(range(len(texts)), key=lambda index: at_most(texts[index]))
        vectors: Vectors | None = None
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            with self._using:
                encode: Callable[..., Any] = self._loaded().encode_document
                encoded = _encode(encode, [texts[index] for index in batch])
            # Without a pause this thread would take the lock again before a waiting one wakes up.
            time.sleep(0.001)
            if vectors is None:
                vectors = np.empty((len(texts), encoded.shape[1]), dtype=np.float32)
            vectors[batch] = encoded
        assert vectors is not None
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape ``(dimensions,)``, float32, unit length.

        Raises:
            ModelMissing: The folder is not there.
            ModelError: The model cannot be loaded.
        """
        with self._using:
            vector: Vectors = _encode(self._loaded().encode_query, [text])[0]
        return vector

    def _loaded(self) -> Any:
        """The model; the caller holds the lock."""
        if self._model is None:
            with loading(self._folder, "embedding model"):
                from sentence_transformers import SentenceTransformer

                self._model = SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
        return self._model


def _encode(encode: Callable[..., Any], texts: list[str]) -> Vectors:
    encoded = encode(
        texts,
        batch_size=_BATCH,
        show_progress_bar=False,
        convert_to_numpy=True,
        normalize_embeddings=True,
    )
    vectors: Vectors = np.asarray(encoded, dtype=np.float32)
    return vectors


def _configured_dimensions(folder: Path) -> int | None:
    """Length of the vectors as the last module that sets it tells it; None where that is unclear.

    Several poolings at once are joined into one longer vector, which only the library works out.
    """
    for module in reversed(_json(folder / "modules.json") or []):
        config = _json(folder / module.get("path", "") / "config.json") or {}
        poolings = [key for key, on in config.items() if key.startswith("pooling_mode_") and on]
        if len(poolings) > 1 or isinstance(config.get("pooling_mode"), list):
            return None
        for key in ("out_features", "embedding_dimension", "word_embedding_dimension"):
            if isinstance(config.get(key), int):
                return int(config[key])
    return None


def _json(path: Path) -> Any:
    """The JSON in ``path``; None where there is none (what it says is only a short cut)."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
