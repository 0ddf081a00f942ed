"""The palette: everything that is possible on a screen is found there and works, and nothing else."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.actions import parse
from textual.command import CommandPalette, Hits
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from agent import checkpoints
from tests.tui.conftest import Picture, looks
from tests.tui.seen import toasts
from tests.tui.stored import QUESTION, cut_off, everything, store_run
from tests.tui.waiting import PATIENCE, comes, opens, until
from traces.runs import Sessions
from tui.app.app import DeepthinkApp
from tui.app.help import HelpScreen
from tui.app.keys import ACTIONS, modes
from tui.app.palette import Actions, Stored, possible
from tui.app.themes import TEXTUAL
from tui.ask.screen import AskScreen
from tui.library.passage import PassageScreen
from tui.runs.replay import ReplayScreen
from tui.settings.settings import load


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine is looked for."""
    monkeypatch.setattr("tui.doctor.findings.findings", lambda **_: iter(()))
    monkeypatch.setenv("DEEPTHINK_OLLAMA_URL", "http://127.0.0.1:1")


async def _opened(pilot: Pilot[Any], words: str) -> list[str]:
    palette = await opens(pilot, CommandPalette, "ctrl+p")
    found = palette.query_one(OptionList)

    def searched() -> bool:
        return all(worker.is_finished for worker in pilot.app.workers if worker.node is palette)

    await until(pilot, lambda: found.option_count and searched())  # what it shows before a word is typed
    if words:
        palette.query_one(Input).value = words
        await pilot.pause()  # until the next search has begun
        await until(pilot, lambda: found.option_count and searched())
    return [Content.from_text(str(option.prompt)).plain for option in found.options]


async def test_everything_possible_is_offered_by_who_can_do_it(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        for mode in DeepthinkApp.MODES:
            app.action_mode(mode)
            for action in ACTIONS[mode]:  # the key line of the screen before may ask this soon
                _, name, parameters = parse(action.does)
                app.screen.check_action(name, parameters)
            await pilot.pause()
            _check_offered(app)


def _check_offered(app: DeepthinkApp) -> None:
    screen = app.screen
    offered = {action.id: owner for action, owner, _ in possible(screen)}
    bound = {b.id for _, b, enabled, _ in screen.active_bindings.values() if enabled and b.id}
    assert bound - {"app.palette"} <= set(offered)
    here = {"app", *getattr(screen, "PLACES", ())}
    for place in here:
        for action in ACTIONS[place]:
            _, name, parameters = parse(action.does)
            impossible = place != "app" and not screen.check_action(name, parameters)
            assert action.id in offered or impossible or action.id == "app.palette", action.id
    for place, actions in ACTIONS.items():
        elsewhere = {action.id for action in actions} - bound
        assert place in here or not elsewhere & set(offered), place
    for action_id, owner in offered.items():
        action = next(a for a in ACTIONS[action_id.partition(".")[0]] if a.id == action_id)
        destination, name, _ = parse(action.does)
        assert hasattr(app if destination else owner, f"action_{name}"), action_id


@pytest.mark.usefixtures("bare")
async def test_what_other_screens_do_is_found_and_gone_to_or_done_at_once(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        for words, line, mode, told in (
            ("pull", "Models: Fetch  p", "models", "p: Fetch the model; resumes a download."),
            ("delete run", "Runs: Delete  d", "runs", "d: Delete the run, with all of it."),
            ("roll back", "Learn: Roll back  b", "learn", "b: Go back to the policy that was active"),
        ):
            found = [one.split("\n")[0] for one in await _opened(pilot, words)]
            assert found[0] == line
            await pilot.press("enter")
            await until(pilot, lambda: app.current_mode == mode)  # noqa: B023 - awaited at once
            await until(pilot, lambda: any(told in one for one in toasts(app)))  # noqa: B023
        for words in ("Settings: Search", "Find a setting by its name"):  # from elsewhere, and from there
            await _opened(pilot, words)
            await pilot.press("enter")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "search")
            assert app.current_mode == "settings"
            await pilot.press("escape")
        await _opened(pilot, "Help for what has the focus")
        await opens(pilot, HelpScreen, "enter")


async def test_the_screen_one_is_on_comes_first_and_words_before_letters_here_and_there(
    library: Path, app: DeepthinkApp
) -> None:
    store_run(question="What did the roof cost?")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        await pilot.pause()
        found = await _opened(pilot, "refresh")
        assert found[0].startswith("Refresh  ")
        assert any(line.startswith("Library: Refresh") for line in found)
        assert not any(line.startswith("Runs: ") for line in found)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CommandPalette))
        everything = await _opened(pilot, "")
        assert not any(line.startswith(("Library: ", "Models: ")) for line in everything)
        assert any(line.startswith("Theme: ") for line in everything)
        await pilot.press("escape", "f2")
        await until(pilot, lambda: not isinstance(app.screen, CommandPalette))
        found = [line.split("\n")[0] for line in await _opened(pilot, "roof")]
        letters = next(place for place, line in enumerate(found) if line.startswith("Library: Followed"))
        assert found.index("Run: What did the roof cost?") < letters


async def test_what_is_stored_is_found_by_its_words(library: Path, app: DeepthinkApp) -> None:
    run_id, going_on = store_run(everything(), session="s1"), cut_off(question="Who rents it?")
    with checkpoints.open_checkpoints(app.engine.store, going_on, lambda _log: None):
        async with app.run_test(size=(120, 40)) as pilot:
            [line] = await _opened(pilot, "rents who")
            assert "running" in line
            await pilot.press("escape")
            found = await _opened(pilot, "bearings supplies")
            assert [line.split("\n")[0] for line in found] == [f"Run: {QUESTION}"]
            replay = await opens(pilot, ReplayScreen, "enter")
            assert (replay._run_id, app.current_mode) == (run_id, "runs")
            [document] = await _opened(pilot, "md supplier")
            assert document.startswith("Document: supplier.md")
            passage = await opens(pilot, PassageScreen, "enter")
            session = Sessions(app.engine.store).begin("ball bearings")
            store_run(session=session)
            passage.dismiss()
            await until(pilot, lambda: app.screen is not passage)
            await _opened(pilot, "ball")
            screen = await opens(pilot, AskScreen, "enter")
            await until(pilot, lambda: screen.session == session)


@pytest.mark.usefixtures("bare")
async def test_enter_waits_for_what_is_searched(app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch) -> None:
    searching, gate = asyncio.Event(), asyncio.Event()
    search = Actions.search

    async def slow(self: Actions, query: str) -> Hits:
        searching.set()
        await gate.wait()
        async for hit in search(self, query):
            yield hit

    monkeypatch.setattr(Actions, "search", slow)
    async with app.run_test(size=(80, 24)) as pilot:
        await _opened(pilot, "")
        palette = app.screen
        for words in ("no such words", "Everything that can be set"):
            searching.clear()
            gate.clear()
            palette.query_one(Input).value = words
            await until(pilot, searching.is_set)
            await pilot.press("enter")
            assert app.screen is palette, "nothing is done yet"
            gate.set()
            await until(pilot, lambda: all(worker.is_finished for worker in app.workers))
        await until(pilot, lambda: app.current_mode == "settings")


async def test_who_types_while_it_opens_or_before_the_library_is_read_loses_nothing(
    library: Path, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, read = threading.Event(), Stored._read

    def slow(self: Stored) -> Any:
        assert gate.wait(PATIENCE)
        return read(self)

    monkeypatch.setattr(Stored, "_read", slow)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for key in ("ctrl+p", *"s"):  # at once, as a terminal sends what waits
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        palette = await comes(pilot, CommandPalette)
        await until(pilot, lambda: palette.query_one(Input).value == "s")
        for words in ("sup", "supplier.md"):
            palette.query_one(Input).value = words
            await pilot.pause(0.05)
        gate.set()
        found = palette.query_one(OptionList)
        await until(pilot, lambda: any("Document: supplier.md" in str(o.prompt) for o in found.options))


def test_each_screen_has_the_places_that_are_offered_elsewhere() -> None:
    assert {mode for mode, _ in modes()} == set(DeepthinkApp.MODES)
    for mode, screen in DeepthinkApp.MODES.items():
        assert callable(screen)
        assert {mode} <= set(getattr(screen(), "PLACES", ())), mode


@pytest.mark.usefixtures("bare")
async def test_a_theme_is_taken_at_once_and_kept(app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.engine.settings().app.theme == "dark"
        found = await _opened(pilot, "theme")
        lines = {line.split("\n")[0] for line in found}
        assert lines >= {"Theme: dark (in use)", "Theme: light", "Theme: ansi"}
        app.screen.query_one(Input).value = "Theme: contrast"
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == TEXTUAL["contrast"])
        await until(pilot, lambda: load().app.theme == "contrast")
        await until(pilot, lambda: app.engine.settings().app.theme == "contrast")


@pytest.mark.usefixtures("bare")
@looks("80x24-dark")
def test_palette_in_pictures(picture: Picture) -> None:
    async def show(pilot: Pilot[Any]) -> None:
        await _opened(pilot, "theme")
        pilot.app.screen.query_one(Input).cursor_blink = False

    picture(show)
