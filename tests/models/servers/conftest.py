"""The server that llama-cpp-python brings, with the real small model behind it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest


@pytest.fixture(scope="session")
def llama_server(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real server of OpenAI's API; its only model is called ``tiny``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("llama") / "server.log"
    options = f"--host 127.0.0.1 --port {port} --model_alias tiny --n_ctx 1024 --n_threads 2".split()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model_file), *options]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},  # spinning threads fight with other tests
        )
    url = f"http://127.0.0.1:{port}/v1"
    try:
        while not _answers(url):
            assert server.poll() is None, log.read_text(errors="replace")[-2000:]
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/models", trust_env=False).is_success
    except httpx.TransportError:
        return False
