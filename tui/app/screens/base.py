"""What every full screen has: the line of places at the top, its own body, the keys at the bottom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Footer

from tui.app.messages import StoreChanged
from tui.app.widgets.navigation import Navigation

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp


class DeepScreen(Screen[None]):
    """A screen of its own mode.

    Attributes:
        MODE: Its name among the app's modes.
        PLACES: Places of the registry whose actions the palette offers here.
        HELP: What F1 tells of it, in Markdown.
    """

    MODE: ClassVar[str]
    PLACES: ClassVar[Sequence[str]] = ()

    def compose(self) -> ComposeResult:
        """The frame around `body`."""
        yield Navigation(self.MODE)
        yield from self.body()
        yield Footer(compact=True, show_command_palette=False)

    def body(self) -> ComposeResult:
        """What is between the first and the last line."""
        yield from ()

    @property
    def deepthink(self) -> DeepthinkApp:
        """The app, by its own type."""
        return cast("DeepthinkApp", self.app)

    def tell_ask(self) -> None:
        """Have the Ask screen read again what it tells of the store and the settings."""
        try:
            stack = self.app.get_screen_stack("ask")
        except KeyError:  # nobody has been there yet
            return
        for screen in stack[:1]:
            screen.post_message(StoreChanged())
