"""What the tests of asking share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.conftest import Answering, MakeApp
from tui.app.app import DeepthinkApp


@pytest.fixture
def app(filled: Path, make_app: MakeApp) -> DeepthinkApp:
    """The app on a library of two documents, with a model that answers."""
    return make_app(Answering())
