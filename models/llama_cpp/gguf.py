"""Reads the header of a GGUF file without loading the model.

Callers need the trained context length before the first token (to budget a prompt) and the shape of the
KV cache (to refuse before memory runs out). Both are in the first kilobytes of the file, so no model
library is needed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from models.protocols import ModelError, ModelMissing

Scalar = int | float | bool | str

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_STRUCT_FORMATS = {kind: f"<{code}" for kind, code in enumerate("BbHhIif?")} | {
    10: "<Q",
    11: "<q",
    12: "<d",
}
_MAX_STRING_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class GgufHead:
    """The scalar metadata before the tokenizer's tables, and the file's size in bytes."""

    size: int
    values: dict[str, Scalar] = field(default_factory=dict)

    def number(self, key: str) -> int | None:
        """The value of ``<architecture>.<key>``; None if it is missing or no integer."""
        value = self.values.get(f"{self.values.get('general.architecture', '')}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def trained_context(self) -> int | None:
        """Context length in tokens that the model was trained for; None if the file does not say."""
        return self.number("context_length")

    def kv_bytes(self, context_tokens: int) -> int:
        """Size in bytes of a 16-bit KV cache for ``context_tokens``; 0 if the file does not say."""
        layers = self.number("block_count") or 0
        width = self.number("embedding_length") or 0
        heads = self.number("attention.head_count") or 1
        kv_heads = self.number("attention.head_count_kv") or heads
        key_width = self.number("attention.key_length") or width // heads
        value_width = self.number("attention.value_length") or width // heads
        return 2 * layers * kv_heads * (key_width + value_width) * context_tokens


def read_head(path: Path) -> GgufHead:
    """Read the header of the GGUF file at ``path``.

    Raises `ModelMissing` if there is no such file, `ModelError` if it is not a GGUF file or is truncated.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise ModelError(
                    f"{path} is not a GGUF file.",
                    "Give the path of a .gguf file, or fetch one with `deepthink models pull`.",
                )
            version, _tensors, keys = struct.unpack("<IQQ", _read_exactly(file, 20))
            values: dict[str, Scalar] = {}
            for _ in range(keys if version >= 2 else 0):
                key = _read_string(file)
                if key.startswith("tokenizer."):
                    break
                value = _read_value(file, struct.unpack("<I", _read_exactly(file, 4))[0])
                if value is not None:
                    values[key] = value
            return GgufHead(path.stat().st_size, values)
    except FileNotFoundError as error:
        raise ModelMissing(
            f"There is no model file at {path}.",
            "Fetch one with `deepthink models pull`, or correct the path in the settings.",
        ) from error
    except (EOFError, KeyError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{path} is damaged: its header cannot be read.",
            "Fetch the file again with `deepthink models pull`.",
        ) from error
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions."
        ) from error


def _read_exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise EOFError
    return data


def _read_string(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", _read_exactly(file, 8))
    if length > _MAX_STRING_BYTES:
        raise EOFError
    return _read_exactly(file, length).decode("utf-8")


def _read_value(file: BinaryIO, kind: int) -> Scalar | None:
    """Read one value; an array is skipped and gives None, because nothing here needs it."""
    if kind == _STRING:
        return _read_string(file)
    if kind == _ARRAY:
        item_kind, count = struct.unpack("<IQ", _read_exactly(file, 12))
        if item_kind in (_STRING, _ARRAY):
            for _ in range(count):
                _read_value(file, item_kind)
        else:
            file.seek(struct.calcsize(_STRUCT_FORMATS[item_kind]) * count, 1)
        return None
    struct_format = _STRUCT_FORMATS[kind]
    scalar: Scalar = struct.unpack(struct_format, _read_exactly(file, struct.calcsize(struct_format)))[0]
    return scalar
