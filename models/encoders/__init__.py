"""Embedders and rerankers from a folder: on ONNX Runtime, or on sentence-transformers with torch.

A folder with an ONNX network and no weights for torch runs on ONNX Runtime, which starts in a tenth of
the time.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from models.catalogue import BGE_SMALL_EN, CATALOGUE, MULTILINGUAL_E5_SMALL, ModelEntry
from models.encoders.folder import Recipe, is_onnx
from models.protocols import Embedder, Reranker

_SAMPLES: Final = 16
_SAMPLE_BYTES: Final = 4096
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
