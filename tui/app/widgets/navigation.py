"""The line at the top: where one is, where one can go, and whether the models are ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from tui.app.actions import ACTIONS
from tui.app.engine import EngineState

_MARKS: Mapping[str, str] = {"loading": "…", "ready": "✓", "missing": "✗", "cold": "·"}
_WIDE = 110  # columns; the app calls a screen wide from here on


class Navigation(Horizontal):
    """One line; the current screen is marked by brackets as well as by colour.

    Args:
        here: Mode of the screen it stands on.
    """

    DEFAULT_CSS = """
    Navigation { height: 1; background: $panel; }
    Navigation #places { width: 1fr; }
    Navigation #engine { width: auto; padding: 0 1; }
    """
    _SHORT: ClassVar[Mapping[str, str]] = {"settings": "Set", "decisions": "Decide", "library": "Lib"}

    def __init__(self, here: str) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        """Places on the left, the state of the engine on the right."""
        places = Static(id="places")
        places.auto_links = False  # the line would be one long link
        yield places
        yield Static(id="engine")

    def on_mount(self) -> None:
        """Follow the state of the engine."""
        self.watch(self.app, "engine_states", self._show_engine)

    def on_resize(self) -> None:
        """Names are shortened where the line is narrow."""
        short = self.size.width < _WIDE
        pieces: list[Content] = []
        for action in ACTIONS["app"]:
            if not action.does.startswith("mode("):
                continue
            name = action.does.removeprefix("mode('").removesuffix("')")
            label = self._SHORT.get(name, action.label) if short else action.label
            key = "" if short else f"{action.key.upper()} "
            here = name == self._here
            piece = Content(f"[{key}{label}]" if here else f" {key}{label} ")
            piece = piece.stylize("bold $primary" if here else "$foreground 75%")
            pieces.append(piece.stylize(f"@click=app.mode('{name}')"))
        self.query_one("#places", Static).update(Content("").join(pieces))

    def _show_engine(self, states: Mapping[str, tuple[EngineState, str]]) -> None:
        if states.get("settings", ("cold", ""))[0] == "missing":  # which models are wanted is not known
            self.query_one("#engine", Static).update(Content(f"{_MARKS['missing']} settings"))
            return
        told = []
        for part in ("model", "embedder"):
            state, detail = states.get(part, ("cold", ""))
            name = detail.removeprefix("llama.cpp:") if part == "model" and state == "ready" else part
            if part == "model" or state != "ready":
                told.append(f"{_MARKS[state]} {name}{' not here' * (state == 'missing')}")
        state, done = states.get("library", ("cold", ""))
        if state == "loading":
            told.append(f"{_MARKS[state]} library embedded: {done}")
        if self.app.size.width < _WIDE:  # one of them: what is missing, else what is not ready yet
            told = [next((word for word in told if word.startswith(_MARKS["missing"])), told[-1])]
        self.query_one("#engine", Static).update(Content("  ".join(told)))
