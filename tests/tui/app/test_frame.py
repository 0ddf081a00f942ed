"""The frame: navigation, themes, the question before something final, and leaving the app."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import product
from typing import Any, get_args

import pytest
from textual import events
from textual.color import Color
from textual.content import Content
from textual.css.query import NoMatches
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import Input, Static

from tests.tui.app.bare import BareScreen
from tests.tui.conftest import MakeApp, Picture, looks
from tests.tui.seen import shown_keys
from tests.tui.waiting import comes, until
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.app.themes import CONTRAST, OURS, TEXTUAL
from tui.ask.welcome import WelcomeScreen
from tui.settings.settings import AppSettings


@pytest.mark.usefixtures("bare")
async def test_no_screen_is_cut_off(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 20), notifications=True) as pilot:
        for news in ("Rated as good.", "Rated as wrong."):
            app.notify(news)
        await until(
            pilot, lambda: {toast.region.top_right for toast in app.screen.query("Toast")} == {(120, 0)}
        )
        app.engine_states = {
            "model": ("ready", "llama.cpp:qwen2.5-coder-1.5b"),
            "embedder": ("ready", "bge-small-en"),
        }
        places, chip = app.screen.query_one("#places", Static), app.screen.query_one("#engine", Static)
        for width, engine, name in (
            (120, "✓ qwen2.5-coder-1.5b", "F5"),
            (80, "✓", "F5"),
            (76, "✓ qwen2.5-coder-1.5b", "Learn"),
            (60, "✓", "Learn"),
        ):
            await pilot.resize_terminal(width, 20)
            await until(pilot, lambda: str(chip.content) == engine)  # noqa: B023 - awaited at once
            assert isinstance(places.content, Content)
            assert places.content.plain.rstrip().endswith("Doctor")
            assert name in places.content.plain.replace("[", " ").split()
            assert places.content.cell_length <= places.size.width
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: "[Ask]" in str(places.content))
        assert str(places.content).endswith("…"), "a sign that there are more"
        await pilot.press("f9")
        places = app.screen.query_one("#places", Static)
        await until(pilot, lambda: "[Doctor]" in str(places.content))
        assert str(places.content).startswith("…")


@pytest.mark.usefixtures("bare")
async def test_what_is_typed_while_a_screen_opens_or_closes_is_not_lost(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await comes(pilot, BareScreen)
        for keys, search in ((["f3"], "query"), (["f1", "escape", "f4"], "run-search"), (["f8"], "search")):
            for key in keys:
                app.post_message(events.Key(key, None))
            for letter in "/fire":  # at once, as if the app had been busy
                app.post_message(events.Key({"/": "slash"}.get(letter, letter), letter))
            await until(pilot, lambda: app.screen.query(f"#{search}"))  # noqa: B023 - awaited at once
            await until(pilot, lambda: app.screen.query_one(f"#{search}", Input).value == "fire")  # noqa: B023
        await pilot.press("escape")
        await until(pilot, lambda: "Search" in shown_keys(app))
        await pilot.press("f1")
        await until(pilot, lambda: "Close" in shown_keys(app))
        assert "Search" not in shown_keys(app), "under a window it does nothing"
        await pilot.press("escape")
        await until(pilot, lambda: "Search" in shown_keys(app))


_INKS = ("foreground", "primary", "secondary", "accent", "warning", "error", "success")
_READABLE = 4.5  # WCAG 2.1, contrast of text at level AA: https://www.w3.org/TR/WCAG21/#contrast-minimum
_HIGH = 7.0  # level AAA


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    parts = [part / 255 for part in Color.parse(colour).rgb]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", OURS, ids=lambda theme: theme.name)
def test_everything_can_be_read_on_it(theme: Theme) -> None:
    least = _HIGH if theme is CONTRAST else _READABLE
    for ink, paper in product(_INKS, ("background", "surface", "panel")):
        assert _contrast(getattr(theme, ink), getattr(theme, paper)) >= least, (ink, paper)


def test_the_settings_and_textual_know_the_same_themes() -> None:
    assert set(get_args(AppSettings.model_fields["theme"].annotation)) == set(TEXTUAL)
    assert set(TEXTUAL.values()) <= {theme.name for theme in OURS} | set(BUILTIN_THEMES)


_WINDOWS: dict[str, Callable[[DeepthinkApp], object]] = {
    "library": lambda app: app.action_mode("library"),
    "welcome": lambda app: app.push_screen(WelcomeScreen()),
    "palette": DeepthinkApp.action_command_palette,
}


@pytest.mark.parametrize("window", _WINDOWS)
@pytest.mark.parametrize("quits", [True, False], ids=["quit", "shut down"])
async def test_leaving_while_a_window_opens_is_no_fault(
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
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looks_for_nothing(self: WelcomeScreen, _: events.Key) -> None:
        self.query_one("#nowhere", Static)

    monkeypatch.setattr(WelcomeScreen, "on_key", looks_for_nothing, raising=False)

    async def use() -> None:
        async with app.run_test() as pilot:
            await pilot.pause()
            pilot.app.push_screen(WelcomeScreen())
            await pilot.pause()
            await pilot.press("x")
            await pilot.pause()

    with pytest.raises(NoMatches, match="nowhere"):
        await use()


@pytest.mark.usefixtures("bare")
async def test_what_each_key_answers(app: DeepthinkApp) -> None:
    answers: list[bool | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        for keys in ("y", "n", "escape", "enter", "right enter", "tab enter", "left left enter"):
            app.push_screen(ConfirmScreen("Remove it?", "It is gone then.", "Remove"), answers.append)
            await pilot.pause()
            await pilot.press(*keys.split())
            await pilot.pause()
    assert answers == [True, False, False, False, True, True, False]


@pytest.mark.usefixtures("bare")
@looks("80x24-dark")
def test_confirm_in_pictures(picture: Picture) -> None:
    detail = (
        "Its 12 documents leave the library; the files stay where they are. [b]Nothing[/b] else changes."
    )

    async def ask(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(ConfirmScreen("Remove the collection “letters”?", detail, "Remove"))

    picture(ask)
