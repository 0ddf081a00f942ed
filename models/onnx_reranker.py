"""Reranking with a cross-encoder on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models.onnx_model import OnnxModel
from models.protocols import ModelError


class OnnxReranker:
    """A `Reranker` that reads query and passage together; a score is the sigmoid of the logit. Thread-safe.

    Args:
        folder: A cross-encoder with one output; it is read on first use.
    """

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder, "reranker")

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._model.folder.name

    def ready(self) -> bool:
        """Whether the model is loaded, so that the next call is quick."""
        return self._model.ready()

    def warm_up(self) -> None:
        """Load the model and run it once; meant for a worker thread.

        Raises:
            ModelMissing: The model is not there.
            ModelError: It cannot be loaded or is no reranker.
        """
        self.score("warm up", ["warm up"])

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score in [0, 1] per passage, in their order; passages that are too long are cut.

        Raises:
            ModelMissing: The model is not there.
            ModelError: It cannot be loaded or is no reranker.
        """
        return [self._score(query, passage) for passage in passages]

    def _score(self, query: str, passage: str) -> float:
        found = list(self._model.run(self._model.encode(query, passage)).values())
        if len(found) != 1 or found[0].size != 1:
            raise ModelError(
                f"The model in {self._model.folder} does not give one score for a passage.",
                "Choose a cross-encoder that was trained for ranking.",
            )
        logit = float(found[0].item())
        return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))
