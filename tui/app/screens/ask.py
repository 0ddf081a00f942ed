"""Ask: the conversation, and the thinking beside it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.widgets import Input

from tui.app.screens.base import DeepScreen


class AskScreen(DeepScreen):
    """The main screen."""

    MODE: ClassVar[str] = "ask"

    def body(self) -> ComposeResult:
        yield Input()
