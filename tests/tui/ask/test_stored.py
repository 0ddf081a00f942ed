"""What the Ask screen tells of the store stays true while one is there: what can go on, collections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from agent import checkpoints
from agent.documents import ingest as ing
from models.protocols import ChatOptions, GenerationCancelled, ModelError
from tests.tui import stored
from tests.tui.ask.test_screen import accept, asked, asking, begun, over, ready, shown
from tests.tui.conftest import QUESTION, Answering, Gate, MakeApp
from tests.tui.stored import cut_off
from tests.tui.waiting import PATIENCE, until
from traces.runs import Runs, Sessions
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.app.engine import Engine
from tui.ask.conversation import Conversation, load_beginning
from tui.ask.prompt import Prompt
from tui.ask.screen import AskScreen
from tui.assemble import open_store
from tui.library.actions import Intake
from tui.library.ingest_panel import IngestPanel
from tui.library.screen import LibraryScreen
from tui.run.exchange import Exchange
from tui.run.live import Meters
from tui.run.panel import RunPanel
from tui.runs.windows import SessionList, SessionsScreen


async def test_a_run_that_failed_here_is_offered_without_taking_the_keys(
    make_app: MakeApp, filled: Path
) -> None:
    calls: list[ChatOptions] = []

    def breaks_once(options: ChatOptions) -> None:
        calls.append(options)
        if len(calls) == 1:
            raise ModelError("The engine fell over.", "Start it again.")

    app = make_app(Answering(during=breaks_once))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        line = screen.query_one("#offer", Static)
        await until(pilot, lambda: line.display)
        assert QUESTION[:20] in shown(line)
        assert screen.query_one(Prompt).has_focus
        await pilot.press("f12")
        await until(pilot, lambda: "r resumes" in str(app.screen.query_one("#preview", Static).content))
        await pilot.press("r")
        await until(pilot, lambda: len(screen.query(Exchange)) == 2)
        assert not line.display
        await accept(pilot, screen)
        assert Runs(app.engine.store).find("last").status == "answered"


def test_what_nobody_works_on_is_offered_but_for_what_was_cancelled() -> None:
    store = open_store()
    wanted = [cut_off(status=status) for status in ("running", "failed", "waiting")]
    cut_off(status="cancelled")
    with checkpoints.open_checkpoints(store, stored.store_run(status="running"), lambda _log: None):
        assert [entry.run.id for entry in load_beginning(Engine(), "").unfinished] == wanted[::-1]


async def test_a_collection_whose_reading_ends_while_one_asks_can_be_named(
    app: DeepthinkApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rent.md").write_text("# Rent\n\nThe rent of the Brevnes plant is 400,000 crowns a year.\n")
    go_on, real = threading.Event(), ing.ingest

    def held(*arguments: Any, **named: Any) -> Iterator[ing.IngestEvent]:
        assert go_on.wait(PATIENCE)
        yield from real(*arguments, **named)

    monkeypatch.setattr("agent.documents.ingest.ingest", held)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)
        library = app.screen
        assert isinstance(library, LibraryScreen)
        library.read(Intake((tmp_path / "rent.md",), (), "rents", ""))
        assert library.query_one(IngestPanel).running
        await pilot.press("f2")
        await until(pilot, lambda: app.screen is screen)
        go_on.set()
        await until(pilot, lambda: "rents" in screen.collection_names)
        intro = screen.query_one(Conversation).query_one("#intro", Static)
        assert "rents  1 document" in shown(intro)


async def test_deleting_the_session_that_is_open_begins_a_new_one(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        await pilot.press("f10")
        await until(pilot, lambda: app.screen.query(SessionList))
        await until(pilot, lambda: app.screen.query_one(SessionList).row_count)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and app.screen.deleted)
        await pilot.press("escape")
        await until(pilot, lambda: not screen.query(Exchange))
        assert screen.session == ""
        await asked(pilot)
        assert not app.failures


async def test_a_session_that_was_deleted_elsewhere_gives_way_to_a_new_one(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        gone = screen.session
        Sessions(app.engine.store).delete(gone)
        await begun(pilot)
        told = "The session was deleted; this question begins a new one."
        await until(pilot, lambda: told in [toast.message for toast in app._notifications])
        await until(pilot, lambda: screen.session not in {"", gone})
        screen.cancel()
        await over(pilot, screen)
        assert not app.failures


async def test_a_new_session_begins_without_the_thinking_and_the_meters_of_the_last_run(
    app: DeepthinkApp,
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await asked(pilot)
        meters = screen.query_one(Meters)
        await until(pilot, lambda: shown(meters).endswith(" s"))
        await pilot.press("ctrl+l")
        await until(pilot, lambda: not screen.query_one(Conversation).display)
        screen.action_new_session()
        await until(pilot, lambda: not screen.query(RunPanel))
        assert not shown(meters).endswith(" s")
        assert screen.query_one(Conversation).display
        assert screen.query_one(Prompt).has_focus
        await asked(pilot)
        await until(pilot, lambda: screen.query(RunPanel) and shown(meters).endswith(" s"))


async def stopped_at(gate: Gate, pilot: Pilot[int], screen: AskScreen) -> str:
    """The id of a run that was cancelled where the gate holds it; the next one finds the gate open."""
    screen.query_one(Prompt).put(QUESTION)
    await pilot.press("enter")
    await until(pilot, gate.reached.is_set)
    await pilot.press("escape")
    await over(pilot, screen)
    gate.open()
    assert screen.fold is not None
    return screen.fold.run_id


async def test_a_run_that_goes_on_is_shown_in_its_own_session(make_app: MakeApp, filled: Path) -> None:
    gate = Gate(2)
    async with make_app(Answering(during=gate)).run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        stopped, session = await stopped_at(gate, pilot, screen), screen.session
        before = "Who supplies the ceramic bearings of Orlavane?"
        await asked(pilot, before)
        screen.action_new_session()
        await until(pilot, lambda: not screen.query(Exchange))
        await asked(pilot, "What halted the plant?")
        assert screen.session != session
        screen.resume(stopped)
        await until(pilot, lambda: screen.session == session and screen.live is not None)
        assert [turn.question for turn in screen.query(Exchange)] == [before, QUESTION]
        await accept(pilot, screen)


async def test_a_question_that_is_cancelled_before_its_run_begins_is_over(app: DeepthinkApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)

        def cancelled(*_: object, **__: object) -> None:
            raise GenerationCancelled("The run was cancelled.")

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("tui.ask.screen.begin", cancelled)
            screen.ask(QUESTION)
            await over(pilot, screen)
        await until(pilot, lambda: screen.query(".state"))
        assert shown(screen.query_one(".state", Static)) == ""
        assert "Cancelled" in shown(screen.query_one(".failed", Static))
        assert not app.failures


async def test_a_run_that_was_asked_without_the_web_is_resumed_without_it(
    make_app: MakeApp, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(2)
    app = make_app(Answering(during=gate))
    opened: list[bool] = []
    monkeypatch.setattr("tui.assemble.open_web", lambda settings, *_: opened.append(settings.web))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        stopped = await stopped_at(gate, pilot, screen)
        monkeypatch.setenv("DEEPTHINK_WEB", "true")
        assert app.engine.reload().web
        screen.resume(stopped)
        await until(pilot, lambda: len(opened) == 2)
        await until(pilot, lambda: screen.live is None or asking(screen, "approve")())
    assert opened == [False, False]
