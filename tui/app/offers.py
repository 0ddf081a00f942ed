"""The app's interface for its screens and widgets, so that none of them imports the app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual.dom import DOMNode

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.widget import Widget

    from tui.app.engine import Engine, EngineState


class Deepthink(Protocol):
    """The app, as its screens and widgets know it.

    Attributes:
        keys: Remapped keys by action id.
        interrupted_runs: Ids of runs in progress when the app ended.
        engine_states: Part of the engine to its state and a detail.
        picture_widget: Draws pictures in this terminal; None if it cannot show them.
    """

    engine: Engine
    keys: dict[str, str]
    interrupted_runs: list[str]
    picture_widget: type[Widget] | None

    @property
    def engine_states(self) -> Mapping[str, tuple[EngineState, str]]: ...

    def key_for(self, action_id: str) -> str:
        """The first key that is mapped to an action, for display."""
        ...

    def key_of(self, action_id: str) -> str:
        """The key of an action that is possible now, for display; "" if it has none."""
        ...

    def take_keys(self, text: str) -> None:
        """Apply the keys of the setting ``app.keys``."""
        ...

    def action_mode(self, name: str) -> None: ...


def deepthink(node: DOMNode) -> Deepthink:
    """The app that ``node`` is part of."""
    return cast(Deepthink, node.app)


def ask_screen(node: DOMNode) -> Screen[Any] | None:
    """The Ask screen, if it was opened yet."""
    try:
        return next(iter(node.app.get_screen_stack("ask")), None)
    except KeyError:
        return None
