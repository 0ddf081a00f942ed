"""The last failures in full, to read and to copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Static, TextArea

from tui.app.actions import bindings
from tui.app.ways_out import in_the_app
from tui.app.work import Failed


class FailureScreen(ModalScreen[None]):
    """Title, message and way out of each failure, newest first; a program fault with its traceback."""

    CSS_PATH = "failure.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("failure")
    HELP = "What went wrong, newest first, with a way out. Shift and the arrows select text."

    def __init__(self, failures: Sequence[Failed]) -> None:
        super().__init__()
        self._text = "\n\n".join(_told(failure) for failure in reversed(failures))

    def compose(self) -> ComposeResult:
        """One text, scrollable."""
        with Vertical(id="failure"):
            yield Static("What went wrong", classes="title")
            yield TextArea(self._text, read_only=True, show_line_numbers=False)
            yield Footer(compact=True, show_command_palette=False)

    def action_copy(self) -> None:
        """Put the whole text on the clipboard."""
        self.app.copy_to_clipboard(self._text)
        self.notify("Copied.")

    def action_close(self) -> None:
        """Back to the screen beneath."""
        self.dismiss()


def _told(failure: Failed) -> str:
    error = failure.error
    is_fault = error.kind == "internal"  # of the program; for what a person can mend the words will do
    return "\n".join(
        (f"{error.title}: {error.message}", in_the_app(error), *(["", failure.detail] * is_fault))
    )
