"""A bare first screen, for tests of what lies over whatever screen there is."""

from __future__ import annotations

from typing import ClassVar

import pytest
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from tui.app.app import DeepthinkApp
from tui.app.base import DeepScreen
from tui.app.keys import bindings


class BareAnswer(Static, can_focus=True):
    """Something with a place of its own in the registry."""

    HELP = "The **answer**."
    BINDINGS: ClassVar[list[BindingType]] = bindings("answer")

    def action_citation(self, by: int) -> None:
        """Nothing."""

    def action_open(self) -> None:
        """Nothing."""


class BareScreen(DeepScreen):
    """Stands where the conversation does."""

    MODE = "ask"
    HELP = "The place around it."

    def body(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield BareAnswer("42 [1]", markup=False)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """The app begins with `BareScreen`."""
    monkeypatch.setattr(DeepthinkApp, "MODES", {**DeepthinkApp.MODES, "ask": BareScreen})
