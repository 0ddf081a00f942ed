"""Lists of rows that are drawn for their width."""

from __future__ import annotations

from functools import partial

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets.option_list import Option

from tui.app.lists import Drawn, hanging
from tui.run.exchange import UnderAnswer


class _Page(App[None]):
    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield UnderAnswer()


async def test_a_row_under_an_answer_that_just_fits_a_wider_window_is_shown_whole() -> None:
    app = _Page()
    async with app.run_test(size=(60, 20)) as pilot:
        offers = app.query_one(UnderAnswer)
        for words in range(37, 42):  # with some of them it fills the line to its last cell
            text = f"{'z ' * words}END"
            offers.put([Option(Drawn(partial(hanging, "[1] ", text)))])
            await pilot.pause()
            await pilot.resize_terminal(90, 20)
            await pilot.pause()
            assert any("END" in offers.render_line(line).text for line in range(offers.size.height))
            await pilot.resize_terminal(60, 20)
            await pilot.pause()
