"""The language model under a causal policy, without a hub: weights that a GGUF file on this machine holds.

The trainers want a folder in Hugging Face's form, so a GGUF file is converted once, into a hidden folder
beside the models that is named for the file's sha256. That digest is what a policy remembers of its base.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.catalogue import CATALOGUE, QWEN_CODER_0_5B, SMOLLM2_135M
from models.fetch import checked
from models.library_loading import loading
from models.processor import trains_in_bfloat16
from models.protocols import ModelMissing
from policy.serving.folder import fingerprint
from traces.paths import models_dir

DEFAULTS: Final = (SMOLLM2_135M, QWEN_CODER_0_5B)
"""Bases to look for where none is named, best first: the smaller learns faster and decides faster."""

_CONVERTED: Final = ".converted"


@dataclass(frozen=True, slots=True)
class CausalBase:
    """A base that can be trained on.

    Attributes:
        name: As a person calls it: a name of the catalogue, else the file's or folder's own.
        sha256: Of the GGUF file, or of the folder's weights where there never was a GGUF file.
        folder: Configuration, tokenizer and weights in Hugging Face's form.
        gguf: The file that it was converted from; None for a folder.
    """

    name: str
    sha256: str
    folder: Path
    gguf: Path | None


def default_base() -> Path:
    """The GGUF file of the first of `DEFAULTS` that is on this machine.

    Raises:
        ModelMissing: none is.
    """
    for known in DEFAULTS:
        place = checked(known)
        if place is not None:
            return place
    raise ModelMissing(
        "No base for a causal policy is on this machine.",
        f"Fetch one: `deepthink models pull {DEFAULTS[0].name}`.",
    )


def open_base(place: Path | None = None) -> CausalBase:
    """A base to train on or to score with; a GGUF file is converted if that was not done before.

    Args:
        place: A GGUF file, or a folder in Hugging Face's form; None for `default_base`.

    Raises:
        ModelMissing: it is not there.
        ModelError: it cannot be converted.
        OSError: the disk is full or failed.
    """
    place = place or default_base()
    if not place.exists():
        raise ModelMissing(f"There is no base model at {place}.", "Name a .gguf file or a model folder.")
    sha256 = fingerprint(place)
    if place.is_file():
        return CausalBase(_name(place), sha256, _converted(place, sha256), place)
    return CausalBase(place.name, sha256, place, None)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a base, padding on the left, so that the last position is the letter's.

    Raises:
        ModelMissing, ModelError: it cannot be loaded.
    """
    with loading(folder, "base model"):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_weights(folder: Path, *, exact: bool = False) -> Any:
    """The model of a base, in the precision that this machine computes fastest.

    Args:
        folder: In Hugging Face's form.
        exact: In 32 bits, whatever is fastest.

    Raises:
        ModelMissing, ModelError: it cannot be loaded.
    """
    with loading(folder, "base model"):
        import torch
        from transformers import AutoModelForCausalLM

        kind = torch.float32 if exact else precision()
        return AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=kind)


def precision() -> Any:
    """The number type in which this machine computes fastest: bfloat16 or float32."""
    import torch

    return torch.bfloat16 if trains_in_bfloat16() else torch.float32


def device() -> str:
    """Where to compute: ``cuda`` where there is a GPU, else ``cpu``."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _converted(file: Path, sha256: str) -> Path:
    root = models_dir() / _CONVERTED
    place = root / sha256[:16]
    if place.is_dir():
        return place
    root.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=root, prefix=".unfinished."))
    try:
        _convert(file, fresh)
        fresh.chmod(0o755)
        try:
            fresh.rename(place)
        except OSError:
            if not place.is_dir():  # else another process has converted the same file meanwhile
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return place


def _convert(file: Path, into: Path) -> None:
    """Write the GGUF file's model into ``into`` in Hugging Face's form, de-quantised, in 16 bits."""
    (into / "config.json").write_text("{}", encoding="utf-8")  # `loading` looks for one; replaced below
    with loading(into, f"model of {file}"):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        where = {"gguf_file": file.name, "local_files_only": True}
        tokenizer = AutoTokenizer.from_pretrained(file.parent, **where)
        # A four-bit weight is a 16-bit number times a small integer: float16 keeps nearly all of it.
        model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float16, **where)
        # What the trainers look at to refuse "quantized" models; the weights are plain by now.
        model.hf_quantizer = None
        model.is_quantized = False
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(into)
        tokenizer.save_pretrained(into)


def _name(file: Path) -> str:
    for known in CATALOGUE:
        if known.files[0].path == file.name:
            return known.name
    return file.stem
