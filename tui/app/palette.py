"""The command palette: every action of the registry that is possible now, and every theme."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType
from textual.widget import Widget

from tui.app.actions import Action, every
from tui.app.themes import TEXTUAL


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
        screen = self.screen
        bound = {
            binding.id: (node, enabled, screen.app.get_key_display(binding))
            for node, binding, enabled, _ in screen.active_bindings.values()
            if binding.id
        }
        places = {"app", *getattr(screen, "PLACES", ())}
        for place, action in every():
            node, enabled, key = bound.get(action.id, (screen, True, ""))
            if place not in places and action.id not in bound:
                continue
            if action.id == "app.palette" or not enabled or not self._possible(action):
                continue
            target = screen.app if place == "app" or not isinstance(node, Widget) else node
            yield (
                f"{action.label}  {key}".strip(),
                action.help,
                partial(target.run_action, action.does),
            )
        for name in TEXTUAL:
            yield f"Theme: {name}", f"Change to the {name} theme.", partial(self._take_theme, name)

    def _possible(self, action: Action) -> bool:
        name, _, rest = action.does.partition("(")
        parameters = (rest.rstrip(")").strip("'"),) if rest else ()
        return bool(self.screen.check_action(name, parameters))

    def _take_theme(self, name: str) -> None:
        from tui.settings_file import put

        self.app.theme = TEXTUAL[name]
        put("app.theme", name)
