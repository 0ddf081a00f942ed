"""The real model, once a session, and a loopback Ollama server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from models.llama_cpp.chat import LlamaCppChat
from tests.models.servers.ollama_server import LoopbackOllama, loopback_ollama
from traces import paths

_FOLDER = "smollm2-135m"
_MODELS = paths.models_dir()  # read before any test moves the home


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The small GGUF file that the tests run against."""
    found = sorted((_MODELS / _FOLDER).glob("*.gguf"))
    if not found:
        pytest.fail(f"no GGUF file in {_MODELS / _FOLDER}: fetch it with `deepthink models pull {_FOLDER}`")
    return found[0]


@pytest.fixture(scope="session")
def real_chat(model_file: Path) -> Iterator[LlamaCppChat]:
    """The small model, loaded; what it holds of earlier prompts differs from test to test."""
    chat = LlamaCppChat(model_file, name="llama.cpp:test", context_tokens=4096)
    chat.loaded()
    yield chat
    chat.close()


@pytest.fixture
def ollama() -> Iterator[LoopbackOllama]:
    with loopback_ollama() as server:
        yield server
