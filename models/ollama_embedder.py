"""An Ollama server's embedding model behind the `models.protocols.Embedder` contract."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from models.ollama_api import base_url as normalised
from models.ollama_api import explained
from models.ollama_wire import Patience, Pump, Wire
from models.protocols import ModelError, Vectors

_BATCH = 32
# How the authors of these models want a question and a passage to be marked; without it they find less.
_PREFIXES = {
    "nomic-embed-text": ("search_query: ", "search_document: "),
    "mxbai-embed-large": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed2": ("query: ", ""),
    "embeddinggemma": ("task: search result | query: ", "title: none | text: "),
    "qwen3-embedding": (
        "Instruct: Given a question, retrieve passages that answer it\nQuery: ",
        "",
    ),
}


class OllamaEmbedder:
    """An embedding model on an Ollama server; its vectors are brought to unit length here.

    Every method but `name` raises `ModelUnreachable`, `ModelMissing` or `ModelError`, as the failure
    demands.

    Args:
        model: As ``ollama list`` shows it.
        base_url: The server's address; ``OLLAMA_HOST`` or this machine if None.
        patience: Time-outs; one batch may take as long as ``first_token``.
    """

    def __init__(
        self, model: str, *, base_url: str | None = None, patience: Patience | None = None
    ) -> None:
        self._model = model
        self._url = normalised(base_url)
        self._patience = patience or Patience()
        self._query_mark, self._passage_mark = _PREFIXES.get(
            model.rsplit("/", 1)[-1].split(":", 1)[0], ("", "")
        )
        self._dimensions: int | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``ollama:`` and the model."""
        return f"ollama:{self._model}"

    @property
    def dimensions(self) -> int:
        """Length of each vector; the first use embeds a word to find out."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = self._embed(["dimensions"]).shape[1]
            return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), dimensions)``."""
        marked = [self._passage_mark + text for text in texts]
        batches = [self._embed(marked[start : start + _BATCH]) for start in range(0, len(marked), _BATCH)]
        if not batches:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate(batches)

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape ``(dimensions,)``."""
        vector: Vectors = self._embed([self._query_mark + text])[0]
        return vector

    def _embed(self, texts: list[str]) -> Vectors:
        import ollama

        wire = Wire(self._patience)

        def ask() -> Iterator[Any]:
            with ollama.Client(host=self._url, transport=wire, timeout=wire.timeouts) as client:
                yield client.embed(model=self._model, input=texts)

        with explained(self._url, self._model):
            (answer,) = Pump[Any](wire, self._patience, None).run(ask)
        try:
            vectors = np.asarray(answer.embeddings, dtype=np.float32)
        except ValueError as ragged:
            raise self._unusable("its vectors differ in length") from ragged
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise self._unusable(f"{len(vectors)} vectors came for {len(texts)} texts")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._unusable("a vector is zero or not a number")
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit

    def _unusable(self, why: str) -> ModelError:
        return ModelError(
            f"{self._model} on Ollama gave no usable vectors: {why}.",
            "Choose an embedding model, e.g. `ollama pull nomic-embed-text`.",
        )
