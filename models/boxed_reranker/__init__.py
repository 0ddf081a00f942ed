"""The reranker that the package ships: an adapter and a head for the MiniLM that the embedder is too.

The files beside this module were made by `policy.reranking`; `manifest.json` says from what, and
`README.md` is their model card. The base is not shipped: it is the embedder's own weights file, so the
reranker is there whenever that is, and what a person downloads grows by a few megabytes only.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from models.catalogue import ALL_MINILM_L6_V2
from models.cross_encoder import CrossEncoderReranker
from models.fetch import installed
from models.library_loading import loading
from models.precision import processor_has_bfloat16
from models.protocols import ModelError

NAME: Final = "boxed-minilm-reranker"
SHIPPED: Final = Path(__file__).parent
WEIGHTS: Final = "adapter.safetensors"
MANIFEST: Final = "manifest.json"
BASE_WEIGHTS: Final = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `manifest.json` says of the weights beside it.

    Attributes:
        base_sha256: Of the base's weights file.
        weights_sha256: Of the adapter and head.
        scale: Factor of the product of an adapter's two matrices (LoRA's alpha over its rank).
        tokens: Most tokens of question and passage together; the rest of the passage is cut.
        slope: Calibration: the probability is the sigmoid of ``slope * logit + intercept``.
        intercept: Likewise.
    """

    base_sha256: str
    weights_sha256: str
    scale: float
    tokens: int
    slope: float
    intercept: float


def read_manifest(folder: Path = SHIPPED) -> Manifest:
    """The manifest in ``folder``.

    Raises:
        ModelError: it is not there, or not what it should be.
    """
    try:
        told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return Manifest(
            base_sha256=str(told["base"]["sha256"]),
            weights_sha256=str(told["files"][WEIGHTS]),
            scale=float(told["adapter"]["scale"]),
            tokens=int(told["adapter"]["tokens"]),
            slope=float(told["calibration"]["slope"]),
            intercept=float(told["calibration"]["intercept"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"The reranker's manifest in {folder} cannot be read: {error}",
            "Install deepthink-tui again, or set `reranker` to “none”.",
        ) from error


def base_on_disk(models: Path | None = None, folder: Path = SHIPPED) -> Path | None:
    """The base's folder if its weights are those that the adapter was trained on, else None.

    Hashing takes a tenth of a second, once for a file that does not change.

    Args:
        models: The models folder; the configured one by default.
        folder: Where the adapter is.
    """
    base = installed(ALL_MINILM_L6_V2, models)
    if base is None or not (folder / WEIGHTS).is_file():
        return None
    try:
        same = _sha256_of(base / BASE_WEIGHTS) == read_manifest(folder).base_sha256
    except (OSError, ModelError):
        return None
    return base if same else None


class BoxedReranker(CrossEncoderReranker):
    """The shipped adapter and head, merged into the base when it is loaded: no slower than the base.

    Its score is a calibrated probability that the passage supports the question. Thread-safe.

    Args:
        base: The folder of all-MiniLM-L6-v2.
        folder: Where adapter, head and manifest are.
    """

    def __init__(self, base: Path, folder: Path = SHIPPED) -> None:
        super().__init__(base)
        self._shipped = folder

    @property
    def name(self) -> str:
        """``boxed-minilm-reranker``."""
        return NAME

    def _activation(self) -> Any:
        from torch import nn

        manifest = read_manifest(self._shipped)

        class Calibrated(nn.Module):  # type: ignore[misc] # torch is Any to mypy
            def forward(self, logits: Any) -> Any:
                return (manifest.slope * logits + manifest.intercept).sigmoid()

        return Calibrated()

    def _loaded(self) -> Any:
        """The model; the caller holds the lock."""
        if self._model is None:
            model = load(self._folder, self._shipped)
            narrow(model[0].model)
            self._model = model
        return self._model


def load(base: Path, folder: Path = SHIPPED) -> Any:
    """sentence-transformers' CrossEncoder with the adapter merged in and the head in place.

    Args:
        base: The folder of all-MiniLM-L6-v2.
        folder: Where adapter, head and manifest are.

    Raises:
        ModelMissing: the base is not there.
        ModelError: base or adapter are not what the manifest names, or cannot be loaded.
    """
    manifest = read_manifest(folder)
    weights = folder / WEIGHTS
    with loading(base, "reranker"):
        from safetensors.torch import load_file
        from sentence_transformers import CrossEncoder

        for path, wanted in (
            (base / BASE_WEIGHTS, manifest.base_sha256),
            (weights, manifest.weights_sha256),
        ):
            if _sha256_of(path) != wanted:
                raise ModelError(
                    f"{path} is not what the reranker's manifest names.",
                    "“deepthink models pull all-minilm-l6-v2” mends the base; for the adapter install "
                    "deepthink-tui again.",
                )
        with _without_remarks():
            model = CrossEncoder(
                str(base), num_labels=1, max_length=manifest.tokens, device="cpu", local_files_only=True
            )
        merge(model[0].model, load_file(str(weights)), manifest.scale)
    return model


def narrow(network: Any) -> None:
    """bfloat16 where the processor multiplies it by itself, which is twice as quick.

    The head stays in full: a logit of eight bits would give different passages the same score.
    """
    import torch

    if processor_has_bfloat16():
        network.to(torch.bfloat16)
        network.classifier.float()
        network.classifier.register_forward_pre_hook(lambda _head, given: tuple(x.float() for x in given))


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Without the library's remark that a folder of sentence vectors becomes a cross-encoder."""
    logger = logging.getLogger("sentence_transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def merge(network: Any, weights: dict[str, Any], scale: float) -> None:
    """Adds each adapter's product to the weights it adapts, and puts the head in place.

    ``LAYER.lora_A`` and ``LAYER.lora_B`` are the matrices of a layer (Hu et al., 2021); any other name
    is a parameter of the head.

    Raises:
        ModelError: a name or shape does not fit the network.
    """
    import torch

    parameters = dict(network.named_parameters())
    try:
        with torch.no_grad():
            for name, value in weights.items():
                if name.endswith(".lora_A"):
                    layer = name.removesuffix(".lora_A")
                    up = weights[f"{layer}.lora_B"].float()
                    parameters[f"{layer}.weight"] += scale * (up @ value.float())
                elif not name.endswith(".lora_B"):
                    parameters[name].copy_(value.float())
    except (KeyError, RuntimeError) as error:
        raise ModelError(
            f"The reranker's weights do not fit their base: {error}", "Install deepthink-tui again."
        ) from error


def _sha256_of(path: Path) -> str:
    found = path.stat()
    return _sha256(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=8)
def _sha256(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
