"""The rooms keep their doors: what starts fast imports nothing heavy, and each room says what it owns."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]

_HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "langgraph",
    "llama_cpp",
    "duckdb",
    "textual",
    "trl",
    "openai",
)


@pytest.mark.parametrize("room", ["traces", "models", "agent", "policy", "tui"])
def test_each_room_says_what_it_owns_and_what_it_must_not_know(room: str) -> None:
    text = importlib.import_module(room).__doc__ or ""
    assert "Owns:" in text
    assert "Must not" in text


@pytest.mark.parametrize("room", ["tui"])
def test_no_folder_has_more_than_twenty_files(room: str) -> None:
    folders = [folder for folder in (_ROOT / room).rglob("*") if folder.is_dir()]
    files = {
        str(folder): sum(file.is_file() and file.suffix != ".pyc" for file in folder.iterdir())
        for folder in folders
    }
    assert {folder: count for folder, count in files.items() if count > 20} == {}


@pytest.mark.parametrize(
    "module",
    [
        "agent.run",
        "agent.graph",
        "models.catalogue",
        "models.probe",
        "models.servers.openai",
        "models.structured",
        "traces.library",
        "tui.ask.warm",
    ],
)
def test_importing_loads_nothing_heavy(module: str) -> None:
    program = f"import {module}, sys; print([m for m in {_HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
