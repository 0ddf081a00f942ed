"""The keys at the bottom of a screen or a window."""

from __future__ import annotations

from textual.geometry import Size
from textual.layout import ArrangeResult, Layout
from textual.layouts.horizontal import HorizontalLayout
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from tui.app.keys import ACTIONS

_EVERYWHERE = frozenset(action.does for action in ACTIONS["app"])


def _is_everywhere(key: Widget) -> bool:
    return isinstance(key, FooterKey) and key.action in _EVERYWHERE


class _WholeKeys(HorizontalLayout):
    """Left to right; drops keys from the end until the rest fit, those of every screen last."""

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        arrangement = super().arrange(parent, children, size, greedy)
        by_importance = sorted(children, key=_is_everywhere, reverse=True)
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
