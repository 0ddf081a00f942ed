"""What the tests of the library share."""

from __future__ import annotations

import pytest

from tests.tui.library.shelf import Beneath, fill
from tui.app.app import DeepthinkApp


@pytest.fixture
def stocked(app: DeepthinkApp) -> None:
    """The app's library has four documents in two collections."""
    fill(app.engine.store)


@pytest.fixture
def beneath(monkeypatch: pytest.MonkeyPatch) -> None:
    """The app begins with an empty screen."""
    monkeypatch.setitem(DeepthinkApp.MODES, "ask", Beneath)
    monkeypatch.setattr(DeepthinkApp, "DEFAULT_MODE", "ask")
