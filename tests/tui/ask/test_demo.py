"""`deepthink demo`, `graph` and `tui`."""

from __future__ import annotations

import pytest

from agent.documents.sample_library import COLLECTIONS, demo_question
from models.catalogue import ModelEntry
from tests.tui.conftest import Answer, Run
from traces.library import Library
from tui.assemble import open_store


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that the demo fetched."""
    names: list[str] = []

    def pull_models(entries: list[ModelEntry]) -> None:
        names.extend(entry.name for entry in entries)

    monkeypatch.setattr("tui.models.pulling.pull_models", pull_models)
    return names


def test_the_demo_fetches_reads_and_asks(
    no_models: None, fetched: list[str], model: Answer, deepthink: Run
) -> None:
    model()
    ran = deepthink("demo")
    assert ran.code == 0
    assert fetched == ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "bge-small-en", "ms-marco-minilm-l12"]
    assert f"question: {demo_question().question}" in ran.err
    assert "Tolvang Ceramics" in ran.out
    held = {c.name: c.description for c in Library(open_store()).collections()}
    assert held == dict(COLLECTIONS)
    again = deepthink("demo", "--plain")
    assert again.code == 0
    assert again.out.count(" unchanged in ") == 2


def test_the_graph_needs_no_model(no_models: None, deepthink: Run) -> None:
    text = deepthink("graph").out
    assert "synthesise      ──→  verify" in text
    assert "REVISE" in text
    mermaid = deepthink("graph", "--format", "mermaid").out
    assert "graph TD" in mermaid
    assert deepthink("graph", "--format", "png").code == 2


def test_the_app_needs_a_terminal(deepthink: Run) -> None:
    ran = deepthink("tui")
    assert (ran.code, ran.out) == (2, "")
    assert "needs a terminal" in ran.err
