"""The keys at the bottom of a screen or a window."""

from __future__ import annotations

from textual.geometry import Size
from textual.layout import ArrangeResult, Layout
from textual.layouts.horizontal import HorizontalLayout
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from tui.app.keys import APP

_EVERYWHERE = frozenset(action.does for action in APP)


def _is_everywhere(key: Widget) -> bool:
    return isinstance(key, FooterKey) and key.action in _EVERYWHERE


class _WholeKeys(HorizontalLayout):
    """From left to right; the last that do not fit are left out, those of every screen after all others."""

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        placed = super().arrange(parent, children, size, greedy)
        by_importance = sorted(children, key=_is_everywhere, reverse=True)
        while by_importance and placed[-1].region.right > size.width:
            least = by_importance.pop()
            children = [child for child in children if child is not least]
            placed = super().arrange(parent, children, size, greedy)
        return placed


class KeyLine(Footer):
    """One line of whole keys; help and palette tell of those that do not fit."""

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)

    @property
    def layout(self) -> Layout:
        """Not the one of its styles, which knows Textual's own by their names."""
        return _WholeKeys()
