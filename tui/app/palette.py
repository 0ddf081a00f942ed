"""The command palette: every action of the registry that is possible now, and every theme."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.actions import parse
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode
from textual.screen import Screen
from textual.types import IgnoreReturnCallbackType

from tui.app.actions import Action, every
from tui.app.themes import TEXTUAL
from tui.app.work import in_background

if TYPE_CHECKING:
    from tui.app.app import DeepthinkApp


class Actions(Provider):
    """What the registry holds, with its keys."""

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for name, help_text, run in self._commands():
            yield DiscoveryHit(name, run, help=help_text)

    async def search(self, query: str) -> Hits:
        """What fits ``query``."""
        matcher = self.matcher(query)
        for name, help_text, run in self._commands():
            score = max(matcher.match(name), 0.8 * matcher.match(help_text))
            if score > 0:
                yield Hit(score, matcher.highlight(name), run, help=help_text)

    def _commands(self) -> Iterator[tuple[str, str, IgnoreReturnCallbackType]]:
        for action, owner, key in possible(self.screen):
            yield f"{action.label}  {key}".strip(), action.help, partial(self._run, owner, action.does)
        app = cast("DeepthinkApp", self.app)
        for name, called in TEXTUAL.items():
            used = " (in use)" if called == app.theme else ""
            yield f"Theme: {name}{used}", f"Change to the {name} theme.", partial(take_theme, app, name)

    async def _run(self, owner: DOMNode, does: str) -> None:
        await self.app.run_action(does, owner)


def possible(screen: Screen[Any]) -> Iterator[tuple[Action, DOMNode, str]]:
    """What can be done on ``screen`` now: the action, who does it, and its key ("" if it has none).

    That is what the keys of what has the focus do, and all of the screen's own places, whatever has the
    focus there.
    """
    bound: dict[str, tuple[DOMNode, bool, str]] = {}
    for node, binding, enabled, _ in screen.active_bindings.values():
        bound.setdefault(binding.id or "", (node, enabled, screen.app.get_key_display(binding)))
    places = getattr(screen, "PLACES", ())
    for place, action in every():
        if action.id == "app.palette":
            continue
        if action.id in bound:
            node, enabled, key = bound[action.id]
            if enabled:
                yield action, node, key
        elif place == "app" or place in places:
            owner = screen.app if place == "app" else _owner(screen, action)
            if owner is not None and _allowed(owner, action):
                yield action, owner, ""


def take_theme(app: DeepthinkApp, name: str) -> None:
    """Change to a theme now, and put it into the settings behind it."""

    def store() -> None:
        from tui.settings_file import put

        put("app.theme", name)
        app.engine.reload()

    app.theme = TEXTUAL[name]
    in_background(app, store, group="theme")


def _owner(screen: Screen[Any], action: Action) -> DOMNode | None:
    """Who does an action whose key does not work just now: the screen, or a widget shown on it."""
    _, name, _ = parse(action.does)
    if hasattr(screen, f"action_{name}") and (not action.key or _binds(screen, action.id)):
        return screen
    return next(
        (node for node in screen.query("*") if node.display and _binds(node, action.id)),
        None,
    )


def _binds(node: DOMNode, action_id: str) -> bool:
    return any(
        isinstance(binding, Binding) and binding.id == action_id
        for kind in type(node).__mro__
        for binding in kind.__dict__.get("BINDINGS", ())
    )


def _allowed(owner: DOMNode, action: Action) -> bool:
    destination, name, parameters = parse(action.does)
    return bool(destination) or bool(owner.check_action(name, parameters))
