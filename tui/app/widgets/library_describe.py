"""A line for what a collection holds."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from tui.app.actions import bindings
from tui.terminal import one_line


class DescribeScreen(ModalScreen[str]):
    """Returns the description, in one line; "" leaves the one there is."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("describe")
    HELP = "What the collection holds, in one line: the planner reads it to know where to search."
    DEFAULT_CSS = """
    DescribeScreen #describe {
        width: 90%; max-width: 90; height: auto; background: $surface; border: round $primary; padding: 0 1;
    }
    DescribeScreen Input { margin: 1 0; }
    """

    def __init__(self, collection: str, description: str) -> None:
        super().__init__()
        self._collection = collection
        self._description = description

    def compose(self) -> ComposeResult:
        """One line."""
        with Vertical(id="describe"):
            yield Static(f"What {one_line(self._collection)} holds", classes="title", markup=False)
            yield Input(self._description, placeholder="In one line, for the planner")
            yield Footer(compact=True, show_command_palette=False)

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        self.dismiss(" ".join(event.value.split()))

    def action_close(self) -> None:
        """Leave it as it is."""
        self.dismiss("")
