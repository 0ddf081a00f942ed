"""A window that opens by itself makes way for who began to type where the prompt was."""

from __future__ import annotations

from textual import events
from textual.screen import ModalScreen


class MakesWay(ModalScreen[str]):
    """Dismissed by what is typed before anything was done in it.

    Attributes:
        typed: What was typed here though it was meant for the prompt.
        in_use: Something was done here: keys are for this window from then on.
    """

    typed: str = ""
    in_use: bool = False

    def on_key(self, event: events.Key) -> None:
        """A letter that does nothing here."""
        if event.is_printable and event.character is not None and event.key not in self.active_bindings:
            self._make_way(event, event.character)

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted as well."""
        self._make_way(event, event.text)

    def _make_way(self, event: events.Event, text: str) -> None:
        if self.in_use:
            return
        event.stop()
        self.typed += text
        if self.is_current:  # several keys may have come at once
            self.dismiss("")
