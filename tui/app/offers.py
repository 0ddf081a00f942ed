"""What the app offers its screens and widgets, so that none of them imports the app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, cast

from textual.dom import DOMNode

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui.app.engine import Engine, EngineState
    from tui.app.keys import Action


class Deepthink(Protocol):
    """The app, as its screens and widgets know it.

    Attributes:
        keys: Remapped keys by action id.
        interrupted_runs: Ids of runs that were under way when the app was left.
        engine_states: Part of the engine to its state and a word about it.
        picture_widget: Draws pictures in this terminal; None if it cannot show them.
    """

    engine: Engine
    keys: dict[str, str]
    interrupted_runs: list[str]
    picture_widget: type[Widget] | None

    @property
    def engine_states(self) -> Mapping[str, tuple[EngineState, str]]: ...

    def key_for(self, action: Action) -> str:
        """The first key of an action as it is mapped now, in words."""
        ...

    def key_of(self, action_id: str) -> str:
        """The key of an action that is possible now, in words; "" if it has none."""
        ...

    def take_keys(self, written: str) -> None:
        """Map the keys as the setting ``app.keys`` has them."""
        ...

    def action_mode(self, name: str) -> None: ...


def deepthink(node: DOMNode) -> Deepthink:
    """The app that ``node`` is part of."""
    return cast(Deepthink, node.app)
