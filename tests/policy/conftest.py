"""What tests of several rooms of `policy` share."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.serving import folder as folders
from tests.agent.conftest import fill
from tests.policy import made
from tests.scripted import HashEmbedder
from traces import paths
from traces.store import Store


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies are loaded by the stand-in."""
    monkeypatch.setattr(folders, "read_scorer", made.load)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with a library of five passages."""
    file = tmp_path_factory.mktemp("library") / "store.duckdb"
    fill(Store(file), HashEmbedder())
    return file


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The published encoder that policies are trained on."""
    folder = paths.models_dir() / "all-minilm-l6-v2"
    if not folder.is_dir():
        pytest.skip("MiniLM is not on this machine")
    return folder
