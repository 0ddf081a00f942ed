"""The head of a GGUF file, read without loading the model.

A caller needs the trained context length before the first token (to budget a prompt) and the shape of
the KV cache (to refuse before memory runs out). Both stand in the first kilobytes of the file, so no
model library is needed for them.
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
_FORMATS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_LONGEST_STRING = 1 << 24


@dataclass(frozen=True, slots=True)
class GgufHead:
    """The scalar keys that precede the tokenizer's tables, and the file's size in bytes."""

    size: int
    values: dict[str, Scalar] = field(default_factory=dict)

    def number(self, key: str) -> int | None:
        """The value of ``<architecture>.<key>`` if it is there and is a whole number."""
        value = self.values.get(f"{self.values.get('general.architecture', '')}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def trained_context(self) -> int | None:
        """Tokens of context the model was trained for, if the file says so."""
        return self.number("context_length")

    def kv_bytes(self, context_tokens: int) -> int:
        """Bytes a 16-bit KV cache of ``context_tokens`` takes; 0 if the file does not say."""
        layers = self.number("block_count") or 0
        width = self.number("embedding_length") or 0
        heads = self.number("attention.head_count") or 1
        kv_heads = self.number("attention.head_count_kv") or heads
        key = self.number("attention.key_length") or width // heads
        value = self.number("attention.value_length") or width // heads
        return 2 * layers * kv_heads * (key + value) * context_tokens


def read_head(path: Path) -> GgufHead:
    """Read the head of the GGUF file at ``path``.

    Raises `ModelMissing` if there is no such file, `ModelError` if it is not a GGUF file or is cut short.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise ModelError(
                    f"{path} is not a GGUF file.",
                    "Give the path of a .gguf file, or fetch one with `deepthink models pull`.",
                )
            version, _tensors, keys = struct.unpack("<IQQ", _exactly(file, 20))
            values: dict[str, Scalar] = {}
            for _ in range(keys if version >= 2 else 0):
                key = _text(file)
                if key.startswith("tokenizer."):
                    break
                value = _value(file, struct.unpack("<I", _exactly(file, 4))[0])
                if value is not None:
                    values[key] = value
            return GgufHead(path.stat().st_size, values)
    except FileNotFoundError as missing:
        raise ModelMissing(
            f"There is no model file at {path}.",
            "Fetch one with `deepthink models pull`, or correct the path in the settings.",
        ) from missing
    except (EOFError, KeyError, UnicodeDecodeError) as damage:
        raise ModelError(
            f"{path} is damaged: its head cannot be read.",
            "Fetch the file again with `deepthink models pull`.",
        ) from damage
    except OSError as trouble:
        raise ModelError(
            f"{path} cannot be read: {trouble.strerror}.", "Check the file and its permissions."
        ) from trouble


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise EOFError
    return data


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", _exactly(file, 8))
    if length > _LONGEST_STRING:
        raise EOFError
    return _exactly(file, length).decode("utf-8")


def _value(file: BinaryIO, kind: int) -> Scalar | None:
    """One value; arrays are skipped (None), because nothing here needs them."""
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        item, count = struct.unpack("<IQ", _exactly(file, 12))
        if item in (_STRING, _ARRAY):
            for _ in range(count):
                _value(file, item)
        else:
            file.seek(struct.calcsize(_FORMATS[item]) * count, 1)
        return None
    shape = _FORMATS[kind]
    scalar: Scalar = struct.unpack(shape, _exactly(file, struct.calcsize(shape)))[0]
    return scalar
