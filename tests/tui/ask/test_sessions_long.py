"""A long session: its latest turns at once, those before when they are wanted."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tui import parts
from tests.tui.ask.test_screen import ready
from tests.tui.conftest import QUESTION, Answering, Gate, MakeApp
from tests.tui.stored import store_run
from tests.tui.waiting import PATIENCE, until
from traces.paths import store_file
from traces.runs import Run, Sessions
from traces.store import Store
from tui.app.app import DeepthinkApp
from tui.app.engine import Engine
from tui.ask import conversation
from tui.ask.conversation import AT_ONCE, Conversation
from tui.ask.prompt import Prompt
from tui.run.exchange import Exchange
from tui.run.fold import RunFold

TURNS = 20


def stored(name: str = "long", turns: int = TURNS) -> str:
    """A session of many answered questions; its id."""
    session = Sessions(Store(store_file())).begin(name)
    events = [(float(at), event) for at, event in enumerate(parts.whole_run()[1:-1]) if event.stored]
    for turn in range(turns):
        store_run(events, question=f"Question {turn}?", session=session)
    return session


async def test_earlier_turns_come_at_the_top_and_what_is_read_stays_where_it_is(app: DeepthinkApp) -> None:
    session = stored()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        screen.go_to_session(session)
        await until(pilot, lambda: len(screen.query(Exchange)) == AT_ONCE)
        conversation = screen.query_one(Conversation)
        await until(pilot, lambda: conversation.max_scroll_y > 0)
        assert screen.session == session
        last = screen.query(Exchange).last()
        assert last.question == f"Question {TURNS - 1}?"
        await until(pilot, lambda: conversation.scroll_y == conversation.max_scroll_y)
        conversation.scroll_home(animate=False)
        await until(pilot, lambda: len(screen.query(Exchange)) == 2 * AT_ONCE)
        await until(pilot, lambda: conversation.scroll_y > 0)
        await screen.run_action("older")
        await until(pilot, lambda: len(screen.query(Exchange)) == TURNS)
        assert not conversation.has_earlier
        questions = [exchange.question for exchange in screen.query(Exchange)]
        assert questions == [f"Question {turn}?" for turn in range(TURNS)]


async def test_earlier_turns_that_come_too_late_are_not_put_above_another_session(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, short = stored(), stored("short", 1)
    go_on, came = threading.Event(), threading.Event()
    real = conversation.load_turns

    def slow(engine: Engine, runs: Sequence[Run]) -> list[RunFold]:
        assert go_on.wait(PATIENCE)
        came.set()
        return real(engine, runs)

    monkeypatch.setattr("tui.ask.screen.load_turns", slow)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        screen.go_to_session(long)
        await until(pilot, lambda: len(screen.query(Exchange)) == AT_ONCE)
        await screen.run_action("older")
        screen.go_to_session(short)
        await until(pilot, lambda: screen.session == short)
        go_on.set()
        await until(pilot, came.is_set)
        await until(pilot, lambda: not any(worker.is_running for worker in app.workers))
        assert len(screen.query(Exchange)) == 1


async def test_a_session_that_is_read_when_a_run_begins_does_not_take_its_place(
    make_app: MakeApp, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = stored("other", 1)
    go_on = threading.Event()
    real = conversation.load_session

    def slow(engine: Engine, session: str) -> conversation.SessionLoaded:
        assert go_on.wait(PATIENCE)
        return real(engine, session)

    monkeypatch.setattr("tui.ask.screen.load_session", slow)
    gate = Gate(1)
    app = make_app(Answering(during=gate))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        screen.go_to_session(other)
        screen.query_one(Prompt).put(QUESTION)
        await pilot.press("enter")
        await until(pilot, gate.reached.is_set)
        go_on.set()
        await until(pilot, lambda: any("in progress" in toast.message for toast in app._notifications))
        assert screen.session != other
        assert [exchange.question for exchange in screen.query(Exchange)] == [QUESTION]
        screen.cancel()
        gate.open()
        await until(pilot, lambda: screen.live is None)
