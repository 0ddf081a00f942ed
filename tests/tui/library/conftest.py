"""What the tests of the library share."""

from __future__ import annotations

import pytest

from tests.tui.library.shelf import fill
from tui.app.app import DeepthinkApp


@pytest.fixture
def stocked(app: DeepthinkApp) -> None:
    """The app's library has four documents in two collections."""
    fill(app.engine.store)
