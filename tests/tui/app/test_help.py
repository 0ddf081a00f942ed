"""F1: what has the focus, its keys, and every name; and what an error advises inside the app."""

from __future__ import annotations

from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Markdown

from agent.run import EmptyLibrary
from models.protocols import ModelMissing
from tests.tui.app.bare import BareAnswer
from tests.tui.conftest import MakeApp, Picture, looks
from tests.tui.waiting import comes, until
from traces.errors import DeepthinkError
from traces.store import StoreError
from tui.app.failure import in_the_app
from tui.app.help import HelpScreen
from tui.app.keys import ACTIONS_BY_ID
from tui.assemble import NoModelYet
from tui.library.actions import WebOff
from tui.settings.settings import BadSetting

pytestmark = pytest.mark.usefixtures("bare")


async def _helped(pilot: Pilot[Any]) -> HelpScreen:
    await pilot.press("f1")
    return await comes(pilot, HelpScreen)


def _shown(screen: HelpScreen) -> str:
    return "\n".join(str(part.render()) for part in screen.query("#pages > Static, #pages > .keys"))


async def test_nearest_first_with_the_keys_as_mapped_now_and_every_name_once(make_app: MakeApp) -> None:
    app = make_app(keys="answer.open=f11, app.runs=alt+r")
    async with app.run_test(size=(80, 24)) as pilot:
        beneath = app.screen
        beneath.query_one(BareAnswer).focus()
        await pilot.pause()
        help_screen = await _helped(pilot)
        await until(pilot, lambda: len(help_screen.query(Markdown)) >= 4)
        texts = [text.source for text in help_screen.query(Markdown)]
        assert texts[:2] == ["The **answer**.", "The place around it."]
        assert "Keys of your own" in texts[2]
        assert "deepthink ask --plain" in texts[3]
        assert "Ctrl-N and Ctrl-T" in texts[3], "which a browser takes"
        shown = _shown(help_screen)
        lines = shown.splitlines()
        assert any(line.startswith("f11") and line.endswith("answer.open") for line in lines)
        assert any(line.startswith("alt+r") and line.endswith("app.runs") for line in lines)
        assert shown.index("In an answer") < shown.index("Everywhere") < shown.index("Elsewhere: ")
        for action_id in ACTIONS_BY_ID:
            assert shown.split().count(action_id) == 1, action_id
        pages = help_screen.query_one("#pages", VerticalScroll)
        await until(pilot, lambda: pages.max_scroll_y > 0)
        await pilot.press("end")
        await until(pilot, lambda: pages.scroll_y == pages.max_scroll_y)
        assert pages.max_scroll_x == 0
        for key in ("escape", "q", "f1"):
            await pilot.press(key)
            assert app.screen is beneath
            await _helped(pilot)


@looks("80x24-dark")
def test_help_in_pictures(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"app", "answer", "failure", "confirm"}
    few = {name: action for name, action in ACTIONS_BY_ID.items() if action.place in places}
    monkeypatch.setattr("tui.app.help.ACTIONS_BY_ID", few)  # a new action elsewhere changes no picture

    async def ask(pilot: Pilot[Any]) -> None:
        pilot.app.screen.query_one(BareAnswer).focus()
        await pilot.press("f1")

    picture(ask)


@pytest.mark.parametrize(
    ("error", "way_out", "told"),
    [
        (
            NoModelYet,
            "Choose one:\n  deepthink models pull   the default\n  deepthink models use X",
            "Fetch one in F7 Models; a file or an Ollama model can be chosen there too.",
        ),
        (
            EmptyLibrary,
            "Add documents: `deepthink ingest PATH`, or try `deepthink demo`.",
            "Add documents in F3 Library, or read the samples there.",
        ),
        (WebOff, "For good: `deepthink config set web true`.", "Turn on web in F8 Settings."),
        (BadSetting, "Correct it there, or `deepthink config unset budget.steps`.", "Correct it there."),
        (StoreError, "Move it away; `deepthink doctor` checks it.", "Move it away; F9 Doctor checks it."),
        (DeepthinkError, 'Ask something, for example: deepthink ask "Who …?"', "Ask something."),
        (
            DeepthinkError,
            "Put it into a file, `deepthink ingest` it, and ask about it.",
            "Put it into a file, read it in F3 Library, and ask about it.",
        ),
        (DeepthinkError, "`deepthink sessions` lists them.", "F10 Sessions lists them."),
    ],
)
def test_it_names_what_the_app_has(error: type[DeepthinkError], way_out: str, told: str) -> None:
    assert in_the_app(error("It is wrong.", way_out), {}) == told


def test_it_names_the_keys_as_they_are_mapped() -> None:
    error = ModelMissing("It is not here.", "Fetch it: `deepthink models pull x`.")
    told = in_the_app(error, {"app.models": "f12"})
    assert told == "Fetch it in F12 Models, or choose another one there."
