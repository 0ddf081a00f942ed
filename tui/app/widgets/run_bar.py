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
        """Where it is narrow the words are left out from the end."""
        self.redraw()

    def show_paused(self, paused: bool) -> None:
        """Call the first action by what it does now."""
        if paused != self._paused:
            self._paused = paused
            self.redraw()

    def redraw(self) -> None:
        """Draw the line."""
        pieces: list[Content] = []
        room = max(self.size.width - 2, 1)
        for action in ACTIONS["run"]:
            piece = self._piece(action)
            room -= piece.cell_length + 2
            if room < -2:
                break
            pieces.append(piece)
        self.update(Content("  ").join(pieces))

    def _piece(self, action: Action) -> Content:
        key = cast("DeepthinkApp", self.app).key_for(action)
        label = "Go on" if action.does == "pause" and self._paused else action.label
        piece = Content(f"{key} {label.lower()}").stylize("bold $accent", 0, len(key))
        return piece.stylize(f"@click=screen.{action.does}")
