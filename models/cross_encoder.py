"""Reranking with a cross-encoder folder on this machine's CPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from models.library_loading import loading
from models.protocols import ModelError

_BATCH: Final = 4  # of like length: padding costs more on a processor than a larger batch brings


class CrossEncoderReranker:
    """A `Reranker` that reads query and passage together with sentence-transformers' CrossEncoder.

    Scores are the sigmoid of the model's logit. Models disagree on whether they apply it themselves
    (the ms-marco ones say no), so the activation is always given, never inherited: it is applied
    once whatever the folder says. Thread-safe.

    Args:
        folder: A cross-encoder with one output; it is read on first use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model: Any = None
        self._using = threading.Lock()

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._folder.name

    def ready(self) -> bool:
        """Whether the model is loaded, so that the next call is quick."""
        return self._model is not None

    def warm_up(self) -> None:
        """Load the model and run it once; meant for a worker thread.

        Raises:
            ModelMissing: The folder is not there.
            ModelError: The model cannot be loaded or is no reranker.
        """
        self.score("warm up", ["warm up"])

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score in [0, 1] per passage, in their order; passages that are too long are cut.

        Raises:
            ModelMissing: The folder is not there.
            ModelError: The model cannot be loaded or is no reranker.
        """
        if not passages:
            return []
        with self._using:
            model = self._loaded()
            scores = model.predict(
                [(query, passage) for passage in passages],
                batch_size=_BATCH,
                show_progress_bar=False,
                activation_fn=self._activation(),
                convert_to_numpy=True,
            )
        return [float(score) for score in scores]

    def _activation(self) -> Any:
        """The module that turns a logit into a score."""
        from torch import nn

        return nn.Sigmoid()

    def _loaded(self) -> Any:
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
