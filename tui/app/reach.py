"""The app and its Ask screen, reached from screens and widgets, which the app imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from textual.dom import DOMNode

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui.app.app import DeepthinkApp
    from tui.ask.screen import AskScreen


def deepthink(node: DOMNode) -> DeepthinkApp:
    return cast("DeepthinkApp", node.app)


async def go_to_ask(node: DOMNode) -> AskScreen:
    """Show the Ask screen; windows over the current one stay."""
    await node.app.switch_mode("ask")
    return cast("AskScreen", node.app.screen)


def ask_screen(node: DOMNode) -> Screen[Any] | None:
    """The Ask screen, if it was opened yet."""
    try:
        return next(iter(node.app.get_screen_stack("ask")), None)
    except KeyError:
        return None
