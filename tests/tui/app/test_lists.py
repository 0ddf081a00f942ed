"""Lists that wrap their entries: no frame shows them at a width that they no longer have."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.widgets.option_list import Option

from tui.app.lists import HangingList, hanging


class Words(HangingList):
    """One long entry."""

    def draw(self) -> None:
        self.set_options([Option(hanging("- ", "bearing " * 40, self.width))])


class ListApp(App[None]):
    """One list, shown and hidden."""

    def compose(self) -> ComposeResult:
        yield Words()


async def test_a_list_that_was_hidden_during_a_resize_is_shown_at_its_new_width(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = ListApp()
    widths: set[tuple[int, int]] = set()  # of each frame: the list's, and that of its longest line
    display = App._display

    def watched(self: App[Any], screen: Any, renderable: Any) -> None:
        for words in self.screen.query(Words):
            if words.display and words.size:
                lines = [words.render_line(row).text.rstrip() for row in range(5)]
                widths.add((words.size.width, max(map(len, lines))))
        display(self, screen, renderable)

    monkeypatch.setattr(App, "_display", watched)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        words = app.query_one(Words)
        words.display = False
        await pilot.pause()
        await pilot.resize_terminal(100, 20)
        await pilot.pause()
        words.display = True
        await pilot.pause()
    assert {width for width, _ in widths} == {96, 56}
    for width, longest in widths:
        assert width - 16 < longest <= width, widths
