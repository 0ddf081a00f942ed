"""What the shell completes, through what typer makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.serving.folder import MANIFEST
from policy.serving.registry import policies_dir
from tests.tui.conftest import Run
from tests.tui.stored import QUESTION, store_run
from traces.paths import store_file
from traces.runs import Sessions
from tui.assemble import open_store

_PREFIX = "_DEEPTHINK_COMPLETE"


def completed(typed: str, deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What bash is given for a line, its last word being completed."""
    monkeypatch.setenv(_PREFIX, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"deepthink {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" "))))
    try:
        return deepthink().out.split()
    finally:
        monkeypatch.delenv(_PREFIX)


def test_names_are_completed(library: Path, deepthink: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = store_run(question=QUESTION, session=Sessions(open_store()).begin("bearings"))
    trained = "forest-of-may"
    (policies_dir() / trained).mkdir(parents=True)
    (policies_dir() / trained / MANIFEST).write_text("{}")
    for typed, expected in {
        "ask --collection f": ["facts"],
        "library remove ": ["facts"],
        f"runs show {run_id[:3]}": [run_id],
        "ask -s b": ["bearings"],
        "models use all-m": ["all-minilm-l6-v2"],
        "config get budget.se": ["budget.seconds"],
        "ser": ["serve"],
        "ask --decider l": ["llm", "learned"],
        "ask --profile l": ["lean"],
        f"policy use {trained[:4]}": [trained],
        f"forget run {run_id[:3]}": [run_id],
        "forget document x --collection f": ["facts"],
        "ingest . --collection f": ["facts"],
        "collect --collection f": ["facts"],
        "evaluate run sample --model qwen2.5-coder-0": ["qwen2.5-coder-0.5b"],
    }.items():
        assert completed(typed, deepthink, monkeypatch) == expected, typed


def test_nothing_is_completed_where_nothing_can_be_read(
    home: Path, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert completed("library remove ", deepthink, monkeypatch) == []
    assert not store_file().exists()
    store_file().parent.mkdir(parents=True)
    store_file().write_text("no store")
    assert completed("library remove ", deepthink, monkeypatch) == []
