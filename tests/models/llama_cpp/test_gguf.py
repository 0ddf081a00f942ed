"""Reading the head of GGUF files, whole and damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from models.llama_cpp.gguf import read_head
from models.protocols import ModelError, ModelMissing


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def head(*entries: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries)


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


WHOLE = head(
    text("general.architecture") + struct.pack("<I", 8) + text("qwen2"),
    text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
    text("general.shape") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 1, 2),
    number("qwen2.context_length", 32768),
    number("qwen2.block_count", 24),
    number("qwen2.embedding_length", 896),
    number("qwen2.attention.head_count", 14),
    number("qwen2.attention.head_count_kv", 2),
    text("qwen2.flag") + struct.pack("<I?", 7, True),
    text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 10**6),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(WHOLE)
    return path


def test_reads_what_precedes_the_tokenizer(file: Path) -> None:
    found = read_head(file)
    assert found.trained_context == 32768
    assert found.kv_bytes(8192) == 2 * 24 * 2 * (64 + 64) * 8192
    assert found.size == len(WHOLE)
    assert found.number("flag") is None
    assert "general.tags" not in found.values


def test_no_file_no_gguf_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no model file"):
        read_head(tmp_path / "absent.gguf")
    (tmp_path / "page.gguf").write_text("<html>", encoding="utf-8")
    with pytest.raises(ModelError, match="not a GGUF file"):
        read_head(tmp_path / "page.gguf")
    with pytest.raises(ModelError, match="cannot be read"):
        read_head(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        *(WHOLE[:length] for length in (4, 10, 30, 60, 90, 150, len(WHOLE) - 30)),
        head(text("a") + struct.pack("<I", 99)),
        head(struct.pack("<Q", 1 << 60)),
    ],
)
def test_a_head_that_ends_too_early_or_is_nonsense(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ModelError, match="damaged") as caught:
        read_head(file)
    assert "models pull" in caught.value.way_out
