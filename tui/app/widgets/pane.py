"""A tab's content that does not call its tab back."""

from __future__ import annotations

from textual.widgets import TabPane


class Pane(TabPane):
    """A `TabPane` that stays in the background once another tab was chosen.

    Textual shows the pane in which something gets the focus. A focus that comes a moment late, because
    somebody has pressed the next tab's key meanwhile, would bring the earlier tab back.
    """

    def on_tab_pane_focused(self, event: TabPane.Focused) -> None:
        """Only what is shown can be focused here: there is no tab to change."""
        event.stop()
