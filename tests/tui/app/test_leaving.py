"""Leaving: whoever quits is out, also where a window was just being opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual import events
from textual.css.query import NoMatches
from textual.widgets import Static

from tests.tui.conftest import MakeApp
from tui.app.app import DeepthinkApp
from tui.ask.welcome import WelcomeScreen

_WINDOWS: dict[str, Callable[[DeepthinkApp], object]] = {
    "library": lambda app: app.action_mode("library"),
    "welcome": lambda app: app.push_screen(WelcomeScreen()),
    "palette": DeepthinkApp.action_command_palette,
}


@pytest.mark.parametrize("window", _WINDOWS)
@pytest.mark.parametrize("quits", [True, False], ids=["quit", "shut down"])
async def test_who_leaves_while_a_window_opens_is_told_of_no_fault(
    make_app: MakeApp, window: str, quits: bool
) -> None:
    for turns in (0, 2) if quits else (1,):  # of the loop, while the window is being opened
        app = make_app()
        async with app.run_test() as pilot:
            await pilot.pause()
            _WINDOWS[window](app)
            for _ in range(turns):
                await asyncio.sleep(0)
            if quits:
                app.exit(0)
        assert not app.return_code
        assert app.failures == []


async def test_what_is_not_there_while_the_app_is_used_is_a_fault(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looks_for_nothing(self: WelcomeScreen, _: events.Key) -> None:
        self.query_one("#nowhere", Static)

    monkeypatch.setattr(WelcomeScreen, "on_key", looks_for_nothing, raising=False)

    async def use() -> None:
        async with make_app().run_test() as pilot:
            await pilot.pause()
            pilot.app.push_screen(WelcomeScreen())
            await pilot.pause()
            await pilot.press("x")
            await pilot.pause()

    with pytest.raises(NoMatches, match="nowhere"):
        await use()
