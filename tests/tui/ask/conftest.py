"""What the tests of asking share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.conftest import Answering, MakeApp
from tui.app.app import DeepthinkApp


@pytest.fixture
def chat() -> Answering:
    """The model of `app`."""
    return Answering()


@pytest.fixture
def app(library: Path, chat: Answering, make_app: MakeApp) -> DeepthinkApp:
    """The app on a library of two documents."""
    return make_app(chat)
