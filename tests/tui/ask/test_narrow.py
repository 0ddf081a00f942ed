"""A narrow terminal, and one that is squeezed to nothing, as terminals in tiles are, and opened again."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Static
from textual.widgets._footer import FooterKey

from tests.tui.ask.test_screen import answer_of, asked, ready
from tests.tui.conftest import Answering, MakeApp
from tests.tui.waiting import until
from tui.ask.conversation import Conversation
from tui.ask.prompt import Prompt
from tui.run.exchange import Answer, Sources
from tui.run.panel import PlanTree


async def test_the_empty_screen_suggests_questions_about_the_documents(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app()
    async with app.run_test(size=(60, 20)) as pilot:
        intro = app.screen.query_one("#intro", Static)
        await until(pilot, lambda: "For example:" in str(intro.content))
        assert "What is “Supply” about?" in str(intro.content)


async def test_no_key_under_an_answer_is_cut_and_the_help_and_the_palette_stay(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(60, 24)) as pilot:
        screen = await asked(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: isinstance(app.focused, Answer))
        await until(pilot, lambda: "Export" in {key.description for key in screen.query(FooterKey)})
        for width in (60, 72, 80, 100, 119, 120):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            shown = {key.description: key.region for key in screen.query(FooterKey) if key.region}
            assert {"Next citation", "Help", "Palette"} <= set(shown)
            assert max(region.right for region in shown.values()) <= width
            if width == 80:
                placeholder = str(screen.query_one(Prompt).placeholder)
                assert placeholder.endswith("#collection looks only there")


async def test_the_thinking_takes_the_place_of_the_answer_which_outlives_a_pane_of_few_columns(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        conversation = screen.query_one(Conversation)
        await pilot.press("ctrl+l")  # there is nothing to show yet
        assert conversation.display
        await asked(pilot)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.focused, PlanTree))
        await until(pilot, lambda: not conversation.display)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(app.focused, Prompt))
        assert conversation.display
        assert screen.exchange is not None
        sources = screen.exchange.query_one(Sources)
        before = [str(option.prompt) for option in sources.options]
        assert before
        for _ in range(2):  # with the conversation, and with the thinking in its place
            for width in (9, 6, 5, 4, 1):
                await pilot.resize_terminal(width, 24)
                await pilot.pause()
            await pilot.press("ctrl+l")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert [str(option.prompt) for option in sources.options] == before
        assert "Tolvang Ceramics" in answer_of(screen.exchange)
