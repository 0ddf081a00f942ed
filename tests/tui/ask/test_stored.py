"""What the Ask screen tells of the store stays true while one is there: what can go on, collections."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from agent import checkpoints
from agent import events as ev
from agent.documents import ingest as ing
from agent.prompts import NOT_FOUND
from models.protocols import ChatOptions, GenerationCancelled, ModelError
from tests.tui import parts, stored
from tests.tui.ask.test_screen import accept, asked, begun, over, ready
from tests.tui.conftest import QUESTION, Answering, Gate
from tests.tui.library.shelf import put
from tests.tui.seen import text_of, toasts
from tests.tui.stored import cut_off, store_run
from tests.tui.waiting import PATIENCE, opens, until
from traces.library import Library
from traces.paths import store_file
from traces.runs import Run, Runs, Sessions
from traces.store import Store
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.app.engine import Engine
from tui.ask.conversation import (
    AT_ONCE,
    Conversation,
    SessionLoaded,
    load_beginning,
    load_session,
    load_turns,
)
from tui.ask.prompt import Prompt
from tui.assemble import open_store
from tui.library.actions import Intake
from tui.library.ingest_panel import IngestPanel
from tui.library.passage import PassageScreen
from tui.library.screen import LibraryScreen
from tui.run.exchange import Exchange, WaysOn
from tui.run.fold import RunFold
from tui.run.live import Meters
from tui.run.panel import RunPanel
from tui.runs.list import RunList
from tui.runs.replay import ReplayScreen
from tui.runs.screen import RunsScreen
from tui.runs.windows import SessionList, SessionsScreen


async def test_what_fails_is_a_toast_a_line_and_a_text_to_copy_and_is_offered_without_taking_the_keys(
    app: DeepthinkApp, chat: Answering
) -> None:
    calls: list[ChatOptions] = []

    def breaks_once(options: ChatOptions) -> None:
        calls.append(options)
        if len(calls) == 1:
            raise ModelError("The engine fell over.", "Start it again.")

    chat.during = breaks_once
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        line = screen.query_one("#offer", Static)
        await until(pilot, lambda: line.display)
        assert QUESTION[:20] in str(line.content)
        assert "The engine fell over. Start it again." in text_of(screen, ".failed")
        assert not screen.query_one("#thinking").display
        assert (screen.query_one(Prompt).text, screen.query_one(Prompt).has_focus) == (QUESTION, True)
        await until(pilot, lambda: app.failures)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press("c")
        assert "The engine fell over." in app.clipboard
        assert "Traceback" not in app.clipboard, "the words say what to do"
        await pilot.press("escape")
        assert app.screen is screen
        await pilot.press("f12")
        await until(pilot, lambda: "r resumes" in text_of(app.screen, "#preview"))
        failed = screen.query_one(Exchange)
        await pilot.press("r")
        await until(pilot, lambda: [turn for turn in screen.query(Exchange) if turn is not failed])
        assert not line.display
        await accept(pilot, screen)
        assert Runs(app.engine.store).find("last").status == "answered"


async def test_the_interrupted_run_is_shown_beside_a_running_one_and_later_every_run(
    app: DeepthinkApp,
) -> None:
    interrupted = cut_off(question="Who paints the seals?")
    running, answered = cut_off(), store_run()
    with checkpoints.open_checkpoints(open_store(), running, lambda _log: None):
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await ready(pilot)
            await until(pilot, lambda: "Who paints the seals?" in text_of(screen, "#offer"))
            runs = await opens(pilot, RunsScreen, "f12")
            rows = runs.query_one(RunList)
            await until(pilot, lambda: rows.row_count == 2 and rows.current_id == interrupted)
            await until(pilot, lambda: "Who paints the seals?" in text_of(runs, "#preview"))
            for keys in (["f4"], ["f2", "f12", "f2", "f4"]):
                await pilot.press(*keys)
                await until(pilot, lambda: text_of(runs, "#run-count") == "3 runs")
                assert text_of(runs, "#run-status") == "status ‹any›"
                assert rows.of(answered) is not None


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
        library = await opens(pilot, LibraryScreen, "f3")
        library.read(Intake((tmp_path / "rent.md",), (), "rents", ""))
        assert library.query_one(IngestPanel).running
        await pilot.press("f2")
        await until(pilot, lambda: app.screen is screen)
        go_on.set()
        await until(pilot, lambda: "rents" in screen.collection_names)
        assert "rents  1 document" in text_of(screen, "#intro")


async def test_a_session_that_is_deleted_here_or_elsewhere_gives_way_to_a_new_one(
    app: DeepthinkApp,
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        sessions = await opens(pilot, SessionsScreen, "f10")
        await until(pilot, lambda: sessions.query_one(SessionList).row_count)
        await opens(pilot, ConfirmScreen, "d")
        await pilot.press("y")
        await until(pilot, lambda: sessions.deleted)
        await pilot.press("escape")
        await until(pilot, lambda: not screen.query(Exchange))
        assert screen.session == ""
        await asked(pilot)
        gone = screen.session
        Sessions(app.engine.store).delete(gone)
        await begun(pilot)
        await until(pilot, lambda: any("this question begins a new one" in told for told in toasts(app)))
        await until(pilot, lambda: screen.session not in {"", gone})
        screen.cancel()
        await over(pilot, screen)
        assert not app.failures


async def test_a_new_session_begins_without_the_thinking_and_meters_of_the_last(app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await asked(pilot)
        meters = screen.query_one(Meters)
        await until(pilot, lambda: str(meters.render()).endswith(" s"))
        await pilot.press("ctrl+l")
        await until(pilot, lambda: screen.query_one("#thinking").display)
        screen.action_new_session()
        await until(pilot, lambda: not screen.query(RunPanel))
        assert not str(meters.render()).endswith(" s")
        assert not screen.query_one("#thinking").display
        assert screen.query_one(Prompt).has_focus
        before = Sessions(app.engine.store).find("last").id
        await asked(pilot)
        assert screen.session not in {"", before}
        await until(pilot, lambda: screen.query(RunPanel) and str(meters.render()).endswith(" s"))


async def test_a_follow_up_says_how_it_was_read_and_can_be_asked_as_typed(
    app: DeepthinkApp, library: Path
) -> None:
    put(
        Library(app.engine.store),
        "other",
        "more.md",
        [("", "A weekend with the tailcoat costs 25 pounds.")],
    )
    session = Sessions(app.engine.store).begin()
    read_as = "How much is the excess for water damage in a week?"
    typed = "tailcoat for a week how much"
    routed = ev.Routed("single", "", "planner", typed, read_as)
    events = [(0.1, routed), (0.2, ev.Answered(NOT_FOUND, [], []))]
    store_run(session=session, question="excess water damage")
    store_run(events, session=session, question=typed, status="not_found", answer=NOT_FOUND)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        screen.go_to_session(session)
        await until(
            pilot, lambda: len(screen.query(WaysOn)) == 2 and screen.query(WaysOn).last().option_count
        )
        first, second = screen.query(Exchange)
        assert text_of(first, ".question") == "excess water damage"
        assert text_of(second, ".question").splitlines() == [typed, f"read as: {read_as}"]
        rows = [str(option.prompt).strip("→ ") for option in screen.query(WaysOn).last().options]
        screen.set_focus(ways := screen.query(WaysOn).last())
        ways.highlighted = rows.index("Ask it as typed, in a new conversation")
        await pilot.press("enter")
        await until(pilot, lambda: not screen.query(Exchange))
        prompt = screen.query_one(Prompt)
        assert (prompt.text, prompt.has_focus, screen.session) == (f"#facts #web {typed}", True, "")


async def test_a_replay_shows_what_came_nearest_and_the_ways_on_as_asking_did(
    app: DeepthinkApp, chat: Answering
) -> None:
    def rows(ways: WaysOn) -> list[str]:
        return [" ".join(str(option.prompt).split()) for option in ways.options]

    chat.finds = False
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        ways = screen.query_one(WaysOn)
        await until(pilot, lambda: ways.option_count > 2)
        await opens(pilot, RunsScreen, "f4")
        await until(pilot, lambda: app.screen.query_one(RunList).row_count)
        replay = await opens(pilot, ReplayScreen, "enter")
        await until(pilot, lambda: replay.query(WaysOn) and rows(replay.query_one(WaysOn)) == rows(ways))
        replay.query_one(WaysOn).focus()
        await opens(pilot, PassageScreen, "enter")
        await pilot.press("escape")
        await replay.action_step(-1)
        await until(pilot, lambda: not replay.query_one(WaysOn).option_count)
        await replay.action_step(1)
        await until(pilot, lambda: rows(replay.query_one(WaysOn)) == rows(ways))
        replay.query_one(WaysOn).focus()
        replay.query_one(WaysOn).highlighted = rows(ways).index("→ Rephrase the question")
        await pilot.press("enter")
        await until(pilot, lambda: screen.is_current and screen.query_one(Prompt).text == QUESTION)


async def test_a_run_goes_on_in_its_own_session_and_without_the_web_as_it_was_asked(
    app: DeepthinkApp, chat: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = chat.during = Gate(2)
    opened: list[bool] = []
    monkeypatch.setattr("tui.assemble.open_web", lambda settings, *_: opened.append(settings.web))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        await until(pilot, gate.reached.is_set)
        await pilot.press("escape")
        await over(pilot, screen)
        gate.open()
        assert screen.fold is not None
        stopped, session = screen.fold.run_id, screen.session
        before = "Who supplies the ceramic bearings of Orlavane?"
        await asked(pilot, before)
        screen.action_new_session()
        await until(pilot, lambda: not screen.query(Exchange))
        await asked(pilot, "What halted the plant?")
        assert screen.session != session
        monkeypatch.setenv("DEEPTHINK_WEB", "true")
        assert app.engine.reload().web
        screen.resume(stopped)
        await until(pilot, lambda: screen.session == session and screen.live is not None)
        assert [turn.question for turn in screen.query(Exchange)] == [before, QUESTION]
        await accept(pilot, screen)
    assert opened == [False] * 4


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
        assert text_of(screen, ".state") == ""
        assert "Cancelled" in text_of(screen, ".failed")
        assert not app.failures


TURNS = 2 * AT_ONCE + 1


def long_session(name: str = "long", turns: int = TURNS) -> str:
    """A session of many answered questions; its id."""
    session = Sessions(Store(store_file())).begin(name)
    events = [(float(at), event) for at, event in enumerate(parts.whole_run()[1:-1]) if event.stored]
    for turn in range(turns):
        store_run(events, question=f"Question {turn}?", session=session)
    return session


async def test_earlier_turns_come_at_the_top_and_what_is_read_stays_where_it_is(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, short = long_session(), long_session("short", 1)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        screen.go_to_session(long)
        await until(pilot, lambda: len(screen.query(Exchange)) == AT_ONCE)
        conversation = screen.query_one(Conversation)
        await until(pilot, lambda: conversation.max_scroll_y > 0)
        assert screen.session == long
        last = screen.query(Exchange).last()
        assert last.question == f"Question {TURNS - 1}?"
        await until(pilot, lambda: conversation.scroll_y == conversation.max_scroll_y)
        conversation.scroll_home(animate=False)
        await until(pilot, lambda: len(screen.query(Exchange)) == 2 * AT_ONCE)
        await until(pilot, lambda: conversation.scroll_y > 0)
        conversation.scroll_home(animate=False)
        await until(pilot, lambda: len(screen.query(Exchange)) == TURNS)
        questions = [exchange.question for exchange in screen.query(Exchange)]
        assert questions == [f"Question {turn}?" for turn in range(TURNS)]

        asked, go_on, came = threading.Event(), threading.Event(), threading.Event()

        def slow(engine: Engine, runs: Sequence[Run]) -> list[RunFold]:
            asked.set()
            assert go_on.wait(PATIENCE)
            came.set()
            return load_turns(engine, runs)

        monkeypatch.setattr("tui.ask.screen.load_turns", slow)
        screen.go_to_session(short)
        await until(pilot, lambda: len(screen.query(Exchange)) == 1)
        screen.go_to_session(long)
        await until(pilot, lambda: len(screen.query(Exchange)) == AT_ONCE)
        conversation.set_scroll(None, 0)
        await pilot.press("pageup")
        await until(pilot, asked.is_set)
        screen.go_to_session(short)
        await until(pilot, lambda: screen.session == short)
        go_on.set()
        await until(pilot, came.is_set)
        await until(pilot, lambda: not any(worker.is_running for worker in app.workers))
        assert len(screen.query(Exchange)) == 1, "they come too late"


async def test_a_session_that_is_read_when_a_run_begins_does_not_take_its_place(
    app: DeepthinkApp, chat: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = long_session("other", 1)
    go_on = threading.Event()
    real = load_session

    def slow(engine: Engine, session: str) -> SessionLoaded:
        assert go_on.wait(PATIENCE)
        return real(engine, session)

    monkeypatch.setattr("tui.ask.screen.load_session", slow)
    gate = chat.during = Gate(1)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        screen.go_to_session(other)
        await begun(pilot)
        await until(pilot, gate.reached.is_set)
        go_on.set()
        await until(pilot, lambda: any("in progress" in told for told in toasts(app)))
        assert screen.session != other
        assert [exchange.question for exchange in screen.query(Exchange)] == [QUESTION]
        screen.cancel()
        gate.open()
        await until(pilot, lambda: screen.live is None)
