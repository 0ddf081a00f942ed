"""A line for words to find in what a screen shows."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget
from textual.widgets import Input

from tui.app.keys import bindings


class FindBar(Input):
    """The search line; hidden until `open`.

    Args:
        find: Marks a match of the words and scrolls to it: 1 forwards, -1 backwards, 0 after the words have
            changed; "" marks nothing. Returns its number, from 1, and the number of matches.
        onward: Where Enter goes: 1 forwards, -1 backwards.
        placeholder: What can be found.
    """

    BINDINGS = bindings("find")
    HELP = """\
### Finding words

Matches are marked while you type. **Enter** goes on, **↑** to the match before, **↓** to the one after,
**Escape** closes the line.
"""
    DEFAULT_CSS = "FindBar, FindBar:focus { display: none; height: 3; border: round $accent; }"

    def __init__(self, find: Callable[[str, int], tuple[int, int]], onward: int, placeholder: str) -> None:
        super().__init__(placeholder=placeholder)
        self._find = find
        self._onward = onward
        self._focused_before: Widget | None = None

    def open(self) -> None:
        if not self.has_focus:
            self._focused_before = self.screen.focused
        self.display = True
        self.screen.set_focus(self)  # at once: the next keys belong here

    def watch_value(self, _value: str) -> None:
        if self.display:
            self.action_move(0)

    def action_move(self, by: int) -> None:
        at, total = self._find(self.value, by)
        self.border_subtitle = (f"{at} of {total}" if total else "not found") if self.value.strip() else ""

    def action_onward(self) -> None:
        self.action_move(self._onward)

    def action_close(self) -> None:
        self.value = ""
        self.display = False
        self.screen.set_focus(self._focused_before)
