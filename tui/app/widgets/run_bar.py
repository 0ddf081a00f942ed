"""The line that is there while a run goes on: what can be done to it, and by which key."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widgets import Static

from tui.app.actions import ACTIONS
from tui.app.actions.action import Action

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp


class RunBar(Static):
    """Each action of a run with its key; a click does it."""

    DEFAULT_CSS = """
    RunBar { height: 1; padding: 0 1; background: $surface; color: $foreground 85%; display: none; }
    RunBar.-on { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.auto_links = False
        self._paused = False

    def on_mount(self) -> None:
        """Draw it."""
        self.redraw()

    def on_resize(self) -> None:
        """Where it is narrow one word has to do for each."""
        self.redraw()

    def show_paused(self, paused: bool) -> None:
        """Call the first action by what it does now."""
        if paused != self._paused:
            self._paused = paused
            self.redraw()

    def redraw(self) -> None:
        """Draw the line."""
        for short in (False, True):
            line = Content("  ").join([self._piece(action, short=short) for action in ACTIONS["run"]])
            if line.cell_length <= self.size.width - 2:
                break
        self.update(line)

    def _piece(self, action: Action, *, short: bool) -> Content:
        key = cast("DeepthinkApp", self.app).key_for(action)
        label = "Go on" if action.does == "pause" and self._paused else action.label
        label = label.split()[0] if short and label != "Go on" else label
        piece = Content(f"{key} {label.lower()}").stylize("bold $accent", 0, len(key))
        return piece.stylize(f"@click=screen.{action.does}")
