"""A models folder for each test, so that no model of the user is touched."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def models(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, which does not exist yet."""
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"
