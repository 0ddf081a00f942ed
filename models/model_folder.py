"""Opening the embedder or the reranker that lies in a folder, by what lies there.

A folder with weights for torch is run by sentence-transformers; one that has only an ONNX network is run by
ONNX Runtime, which starts in a tenth of the time.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from models.catalogue import BGE_SMALL_EN, CATALOGUE, MULTILINGUAL_E5_SMALL, CatalogueRole
from models.onnx_embedder import Recipe
from models.onnx_model import onnx_file
from models.protocols import Embedder, Reranker

_SAMPLES: Final = 16
_SAMPLE_BYTES: Final = 4096

_RECIPES: Final = {
    BGE_SMALL_EN.name: Recipe("cls", query="Represent this sentence for searching relevant passages: "),
    MULTILINGUAL_E5_SMALL.name: Recipe("mean", query="query: ", passage="passage: "),
}
"""Of the catalogue's ONNX embedders, as their model cards say."""


def open_embedder(folder: Path) -> Embedder:
    """The embedder in ``folder``, not yet loaded, under a name that other weights do not share.

    A catalogue model, whose files were checked when they were fetched, goes by its catalogue name.
    Any other folder's name is followed by a fingerprint of its weights: two fine-tunings of one
    model that lie in folders of the same name make vectors that must not be mixed.
    """
    known = _catalogue_name(folder, "embedder")
    name = known or f"{folder.name}@{_fingerprint(folder)}"
    if is_onnx(folder):
        from models.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder(folder, name, _RECIPES.get(known))
    from models.local_embedder import LocalEmbedder

    return LocalEmbedder(folder, name)


def open_reranker(folder: Path) -> Reranker:
    """The reranker in ``folder``, not yet loaded."""
    if is_onnx(folder):
        from models.onnx_reranker import OnnxReranker

        return OnnxReranker(folder)
    from models.cross_encoder import CrossEncoderReranker

    return CrossEncoderReranker(folder)


def is_onnx(folder: Path) -> bool:
    """Whether the folder has a network for ONNX Runtime and no weights for torch."""
    torch = any((folder / name).is_file() for name in ("model.safetensors", "pytorch_model.bin"))
    return not torch and onnx_file(folder) is not None


def _catalogue_name(folder: Path, role: CatalogueRole) -> str:
    """The catalogue's name of the model in ``folder``; "" if it is none of the catalogue's."""
    for entry in CATALOGUE:
        sizes = all(_size(folder / file.path) == file.size for file in entry.files)
        if entry.role == role and folder.name == entry.name and sizes:
            return entry.name
    return ""


def _fingerprint(folder: Path) -> str:
    """Eight hex digits from the sizes of the weight files and samples of their bytes.

    Reading all of a large model only to name it would take seconds at each start.
    """
    digest = hashlib.sha256()
    kinds = ("*.onnx",) if is_onnx(folder) else ("*.safetensors", "*.bin")
    for path in sorted(found for kind in kinds for found in folder.rglob(kind)):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()} {size}\n".encode())
        with path.open("rb") as stream:
            for number in range(_SAMPLES):
                stream.seek(size * number // _SAMPLES)
                digest.update(stream.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:8]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
