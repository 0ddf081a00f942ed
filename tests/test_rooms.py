"""The rooms keep their doors: what starts fast imports nothing heavy, and no folder is crowded."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_HEAVY = {
    "torch",
    "transformers",
    "sentence_transformers",
    "langgraph",
    "llama_cpp",
    "duckdb",
    "textual",
    "trl",
    "openai",
}
_LIGHT = [
    "agent.run",
    "agent.graph",
    "models.catalogue",
    "models.probe",
    "models.servers.openai",
    "models.structured",
    "traces.library",
    "tui.ask.warm",
]
_IMPORT = f"""
import importlib, sys
for name in {_LIGHT}:
    importlib.import_module(name)
    heavy = {_HEAVY} & sys.modules.keys()
    assert not heavy, f"{{name}} imports {{heavy}}"
"""


def test_no_folder_has_more_than_twenty_files() -> None:
    files = [
        path
        for room in ("traces", "models", "agent", "policy", "tui")
        for path in (_ROOT / room).rglob("*.*")
    ]
    counts = Counter(str(path.parent) for path in files if path.is_file() and path.suffix != ".pyc")
    assert {folder: count for folder, count in counts.items() if count > 20} == {}


def test_importing_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
