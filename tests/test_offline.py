"""The promise: with every socket but loopback blocked, documents are read and a question is answered.

Without torch, too, which would take seconds to import.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_BLOCK = '''
"""Imported by the interpreter at start: refuses every connection that leaves this machine."""
import socket

_connect, _lookup = socket.socket.connect, socket.getaddrinfo


def _here(host):
    return host in ("localhost", "::1", None, "") or str(host).startswith("127.")


def connect(self, address):
    if self.family != socket.AF_UNIX and not _here(address[0]):
        raise AssertionError(f"something reached for the network: {address}")
    return _connect(self, address)


def lookup(host, *args, **kwargs):
    if not _here(host):
        raise AssertionError(f"something looked up a host: {host}")
    return _lookup(host, *args, **kwargs)


socket.socket.connect = socket.socket.connect_ex = connect
socket.getaddrinfo = socket.gethostbyname = lookup
'''
_RUN = """
import sys
from tui.cli import run

code = run(sys.argv[1:])
heavy = {"torch", "transformers", "sentence_transformers"} & set(sys.modules)
assert not heavy, f"imported {heavy}"
sys.exit(code)
"""
_PREPARE = """
import sys
from tui.app.engine import Engine

told = []
Engine(told.append).prepare()
ready = [message.part for message in told if message.state == "ready"]
assert ready == ["settings", "model", "embedder"], told
heavy = {"torch", "transformers", "sentence_transformers"} & set(sys.modules)
assert not heavy, f"imported {heavy}"
"""


@pytest.mark.model
def test_reading_and_answering_without_a_network(tmp_path: Path) -> None:
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "sitecustomize.py").write_text(_BLOCK)
    (tmp_path / "note.md").write_text(
        "# Bearings\n\n2 June 2025\n\nOrlavane buys all of its ceramic bearings from Tolvang Ceramics."
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "block")}
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        environment.pop(name, None)  # the product sets these itself, or this test shows that it does not

    def deepthink(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", _RUN, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    probe = subprocess.run(
        [sys.executable, "-c", "import socket; socket.create_connection(('192.0.2.1', 9))"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "reached for the network" in probe.stderr or "looked up a host" in probe.stderr
    read = deepthink("ingest", str(tmp_path / "note.md"), "--collection", "notes")
    assert read.returncode == 0, read.stderr
    asked = deepthink(
        "ask", "Who makes Orlavane's ceramic bearings?", "--model", "qwen2.5-coder-0.5b", "--json"
    )
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)
    assert "Tolvang" in answer["answer"]
    assert answer["sources"][0]["document"] == "note.md"


@pytest.mark.model
def test_the_app_prepares_itself_without_torch() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _PREPARE],
        env={**os.environ, "DEEPTHINK_MODEL": "qwen2.5-coder-0.5b"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
