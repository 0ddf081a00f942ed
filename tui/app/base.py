"""The frame of every full screen: navigation at the top, a body, the keys at the bottom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Size
from textual.layout import ArrangeResult, Layout
from textual.layouts.horizontal import HorizontalLayout
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Static, TabPane
from textual.widgets._footer import FooterKey

from tui.app.engine import EngineState
from tui.app.keys import ACTIONS, modes
from tui.app.reach import ask_screen, deepthink

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp

_STORE_SECONDS = 2.0  # from one look at the time of the store's file to the next
_STATE_SIGNS: Mapping[str, str] = {"loading": "…", "ready": "✓", "missing": "✗", "cold": "·"}


class Navigation(Horizontal):
    """The line of screens; brackets mark the current one, not colour alone."""

    DEFAULT_CSS = """
    Navigation { height: 1; background: $panel; }
    Navigation #places { width: 1fr; }
    Navigation #engine { width: auto; padding: 0 1; }
    """

    def __init__(self, mode: str) -> None:
        super().__init__()
        self._mode = mode

    def compose(self) -> ComposeResult:
        places = Static(id="places")
        places.auto_links = False  # the line would be one long link
        yield places
        yield Static(id="engine")

    def on_mount(self) -> None:
        self.watch(self.app, "engine_states", self.on_resize)

    def on_resize(self) -> None:
        """Show as much as there is room for; the places are shortened last.

        Their keys matter more than the name of a model that is ready, and less than what is not.
        """
        engine = _engine_text(deepthink(self).engine_states)
        width = self.size.width or self.app.size.width  # it is not laid out yet
        sign = engine[0]
        forms = [(True, engine), (True, sign), (False, engine), (False, sign)]
        if sign != _STATE_SIGNS["ready"]:
            forms.remove((True, sign))
        *longer, shortest = ((self._places(keys=keys), text) for keys, text in forms)
        fitting = (pair for pair in longer if pair[0].cell_length + cell_len(pair[1]) + 2 <= width)
        places, text = next(fitting, shortest)
        self.query_one("#places", Static).update(_cut(places, width - cell_len(text) - 2))
        self.query_one("#engine", Static).update(Content(text))

    def _places(self, *, keys: bool) -> Content:
        pieces: list[Content] = []
        for name, action in modes():
            label = f"{action.key.upper()} {action.label}" if keys else action.label
            is_current = name == self._mode
            piece = Content(f"[{label}]" if is_current else f" {label} ")
            piece = piece.stylize("bold $primary" if is_current else "$foreground 75%")
            pieces.append(piece.stylize(f"@click=app.mode('{name}')"))
        return Content("").join(pieces)


def _cut(places: Content, room: int) -> Content:
    """As much of the line as there is room for, the current place included; … where it is cut."""
    start = max(places.plain.index("]") + 2 - room, 0) if places.cell_length > room else 0
    places = places[start:].truncate(max(room, 0), ellipsis=True)
    return Content.assemble("…", places[1:]) if start else places


def _engine_text(states: Mapping[str, tuple[EngineState, str]]) -> str:
    """The part that is missing, else one that is not ready yet, else the model's name."""
    if states.get("settings", ("cold", ""))[0] == "missing":  # so the models are unknown
        return f"{_STATE_SIGNS['missing']} settings"
    parts = {part: states.get(part, ("cold", "")) for part in ("model", "embedder")}
    for part, (state, _) in parts.items():
        if state == "missing":
            return f"{_STATE_SIGNS[state]} {part} not here"
    state, progress = states.get("library", ("cold", ""))
    if state == "loading":
        return f"{_STATE_SIGNS[state]} library embedded: {progress}"
    part, (state, name) = next(
        ((part, state) for part, state in parts.items() if state[0] != "ready"), ("", parts["model"])
    )
    return f"{_STATE_SIGNS[state]} {part or name.removeprefix('llama.cpp:')}"


_EVERYWHERE = frozenset(action.does for action in ACTIONS["app"])


class _WholeKeys(HorizontalLayout):
    """Left to right; drops keys from the end until the rest fit, those of every screen last."""

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        arrangement = super().arrange(parent, children, size, greedy)
        by_importance = sorted(
            children, key=lambda key: isinstance(key, FooterKey) and key.action in _EVERYWHERE, reverse=True
        )
        while by_importance and arrangement[-1].region.right > size.width:
            child_to_drop = by_importance.pop()
            children = [child for child in children if child is not child_to_drop]
            arrangement = super().arrange(parent, children, size, greedy)
        return arrangement


class KeyLine(Footer):
    """One line of whole keys; help and palette list those that do not fit."""

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)

    @property
    def layout(self) -> Layout:
        """`_WholeKeys`; the styles can only name Textual's own layouts."""
        return _WholeKeys()


class DeepScreen(Screen[None]):
    """A screen with its own mode; F1 shows its ``HELP``, which is Markdown."""

    MODE: ClassVar[str]  # the name of its mode
    PLACES: Sequence[str] = ()  # places of the registry whose actions the palette offers here
    _away = True  # whether another screen is shown

    def compose(self) -> ComposeResult:
        yield Navigation(self.MODE)
        yield from self.body()
        yield KeyLine()

    def body(self) -> ComposeResult:
        yield from ()

    def on_mount(self) -> None:
        """Set the width classes for the first layout; Textual sets them only for the second."""
        breakpoints = self.app.HORIZONTAL_BREAKPOINTS or []
        self.add_class(*self._get_breakpoint_classes(self.app.size.width, breakpoints))

    def on_screen_suspend(self) -> None:
        """Note whether another screen is shown, or only a window over this one."""
        self._away = self.app.current_mode != self.MODE

    def on_screen_resume(self) -> None:
        if self._away:
            self._away = False
            self.entered()

    def entered(self) -> None:
        """Called when the screen is shown, but not when a window over it closes."""

    def focus_input(self) -> None:
        """Focus the input, if any: the key of the screen was pressed on it."""

    def look_again(self) -> None:
        """Read the store again, where nothing else does: settings, collections or runs have changed."""

    @property
    def deepthink(self) -> DeepthinkApp:
        return deepthink(self)

    def tell_ask(self) -> None:
        """Make the Ask screen read store and settings again."""
        if (screen := ask_screen(self)) is not None:
            cast(DeepScreen, screen).look_again()

    def follow_store(self, read_again: Callable[[], object]) -> None:
        """Call ``read_again`` when the store was written, also by a command, while this screen is shown."""
        store = self.deepthink.engine.store
        seen = store.written()

        def look() -> None:
            nonlocal seen
            if self.is_current and (written := store.written()) != seen:
                seen = written
                read_again()

        self.set_interval(_STORE_SECONDS, look)

    def show_place(self, place: str) -> None:
        """Show the view that has the actions of a place, on a screen with several."""


class Pane(TabPane):
    """A `TabPane` that stays in the background after another tab was chosen.

    Textual shows the pane in which a widget gets the focus. A focus that arrives late, after the user has
    pressed another tab's key, would bring the earlier tab back.
    """

    def on_tab_pane_focused(self, event: TabPane.Focused) -> None:
        """Stop the event: a focus must not change the tab."""
        event.stop()
