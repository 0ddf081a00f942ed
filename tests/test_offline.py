"""The promise: with every socket but loopback blocked, documents are read and a question is answered.

Without torch, too, which would take seconds to import.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from models.servers.ollama import DEFAULT_URL

_BLOCK = '''
"""Imported at start: notes every connection, and refuses those that leave this machine."""
import os
import sys


def heard(event, args):
    if event in ("socket.connect", "socket.sendto"):
        address = args[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        address = args[:2]
    else:
        return
    if not isinstance(address, tuple):
        return  # the socket file of another process
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    with open(os.environ["HEARD"], "a") as log:
        log.write(f"{host} {address[1] if len(address) > 1 else ''}\\n")
    if not (host in ("localhost", "::1", None, "") or str(host).startswith("127.")):
        raise AssertionError(f"something reached for the network: {address}")


sys.addaudithook(heard)
'''
_RUN = """
import sys
from tui.cli import run

code = run(sys.argv[1:])
heavy = {"torch", "transformers", "sentence_transformers"} & set(sys.modules)
assert not heavy, f"imported {heavy}"
sys.exit(code)
"""
_SESSION = """
import sys
from tui.cli import run

note, folder = sys.argv[1:]
for command in (
    ["ingest", note, "--collection", "notes"],
    ["sync"],
    ["library", "search", "bearings"],
    ["library", "list"],
    ["runs"],
    ["traces", "stats"],
    ["policy", "list"],
    ["config"],
    ["models", "list"],
    ["doctor"],
    ["backup", f"{folder}/backup.zip"],
    ["restore", f"{folder}/backup.zip", "--yes"],
    ["forget", "document", "note.md", "--yes"],
):
    assert run(command) in (0, 1), command
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
    (tmp_path / "note.md").write_text(
        "# Bearings\n\n2 June 2025\n\nOrlavane buys all of its ceramic bearings from Tolvang Ceramics."
    )
    environment = _listening(tmp_path)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        environment.pop(name, None)  # the product sets these itself, or this test shows that it does not
    probe = _python(environment, "import socket; socket.create_connection(('192.0.2.1', 9))")
    assert "reached for the network" in probe.stderr
    read = _python(environment, _RUN, "ingest", str(tmp_path / "note.md"), "--collection", "notes")
    assert read.returncode == 0, read.stderr
    question = "Where does Orlavane get its bearings?"
    asked = _python(environment, _RUN, "ask", question, "--model", "qwen2.5-coder-0.5b", "--json")
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)
    assert "Tolvang" in answer["answer"]
    assert answer["sources"][0]["document"] == "note.md"


@pytest.mark.model
def test_a_session_opens_no_connection_that_the_settings_do_not_name(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Bearings\n\nOrlavane buys its ceramic bearings from Tolvang.")
    ran = _python(_listening(tmp_path), _SESSION, str(tmp_path / "note.md"), str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    server = urlsplit(DEFAULT_URL)
    heard = {*(tmp_path / "heard").read_text().splitlines()}
    assert heard == {f"{server.hostname} {server.port}"}, (
        "the doctor asks the Ollama that is set, and no other"
    )


def _python(environment: dict[str, str], program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _listening(folder: Path) -> dict[str, str]:
    """An environment in which every process of Python notes its connections in ``folder/heard``."""
    (folder / "block").mkdir()
    (folder / "block" / "sitecustomize.py").write_text(_BLOCK)
    return {**os.environ, "PYTHONPATH": str(folder / "block"), "HEARD": str(folder / "heard")}


@pytest.mark.model
def test_the_app_prepares_itself_without_torch() -> None:
    ran = _python({**os.environ, "DEEPTHINK_MODEL": "qwen2.5-coder-0.5b"}, _PREPARE)
    assert ran.returncode == 0, ran.stderr
