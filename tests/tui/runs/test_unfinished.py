"""The runs that can go on: offered with why they stopped, taken up, given up; every key of the window."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from agent import checkpoints
from agent import events as ev
from tests.tui import stored
from tests.tui.conftest import MakeApp
from tests.tui.runs.test_screen import Asked, opened
from tests.tui.stored import cut_off
from tests.tui.waiting import until
from traces.runs import Run, Runs
from tui.app.confirm import ConfirmScreen
from tui.app.engine import Engine
from tui.ask.conversation import load_beginning
from tui.assemble import open_store
from tui.run.fold import stored_events
from tui.runs.windows import UnfinishedScreen, find_unfinished

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (120, 40)


async def shown(pilot: Pilot[Any]) -> tuple[UnfinishedScreen, list[Run | None]]:
    """The window over what is there."""
    chosen: list[Run | None] = []
    screen = UnfinishedScreen(find_unfinished(open_store()))
    pilot.app.action_mode("runs")  # type: ignore[attr-defined]
    await pilot.pause()
    pilot.app.push_screen(screen, chosen.append)
    await until(pilot, lambda: screen.is_mounted and screen.query(OptionList))
    return screen, chosen


def told(screen: UnfinishedScreen) -> list[str]:
    return [str(option.prompt) for option in screen.query_one(OptionList).options]


async def test_the_chosen_run_is_returned(make_app: MakeApp) -> None:
    older = cut_off()
    cut_off(status="waiting", question="Which year?")
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen, chosen = await shown(pilot)
        waiting, interrupted = told(screen)
        assert "waits for you" in waiting
        assert "Which year?" in waiting
        assert "was interrupted" in interrupted
        await pilot.press("down", "enter")
        await until(pilot, lambda: chosen)
    assert [run.id for run in chosen if run] == [older]


async def test_a_run_that_is_given_up_is_not_offered_again(make_app: MakeApp) -> None:
    store = open_store()
    call = ev.ModelCalled("route", 50, 10, 5, 0.1)
    run_id = cut_off(events=[(0.5, call), (0.9, call)])
    failed = cut_off(status="failed")

    def left_are(ids: list[str]) -> bool:
        return [entry.run.id for entry in find_unfinished(store)] == ids

    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen, chosen = await shown(pilot)
        for key, left in (("d", [run_id]), ("delete", [])):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            await pilot.press("y")
            await until(pilot, lambda: app.screen is screen or chosen)
            await until(pilot, partial(left_are, left))
        await until(pilot, lambda: chosen)
    assert chosen == [None]  # with nothing left to choose
    run = Runs(store).find(run_id)
    assert (run.status, run.stopped_because, run.evaluated, run.generated) == (
        "cancelled",
        "given up",
        100,
        10,
    )
    assert run.finished is not None
    _, last = stored_events(store, Runs(store).find(run_id))[-1]
    assert isinstance(last, ev.RunFinished)
    assert last.seconds == 0.9
    assert Runs(store).find(failed).status == "failed"


def test_only_what_nobody_works_on_is_offered_and_what_was_cancelled_only_when_asked_for() -> None:
    store = open_store()
    wanted = [cut_off(status=status) for status in ("running", "failed", "waiting")]
    cancelled, elsewhere = cut_off(status="cancelled"), stored.store_run(status="running")
    with checkpoints.open_checkpoints(store, elsewhere, lambda _log: None):
        entries = find_unfinished(store)
        assert [entry.run.id for entry in entries] == [cancelled, *wanted[::-1]]
        assert [entry.run.id for entry in load_beginning(Engine()).unfinished] == wanted[::-1]


async def test_the_list_of_runs_offers_them_too(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch)
    app = make_app()
    stored.store_run()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 1)
        await pilot.press("u")
        await until(pilot, lambda: any("nothing to resume" in n.message for n in app._notifications))
        run_id = cut_off()
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, UnfinishedScreen))
        await pilot.press("enter")
        await until(pilot, lambda: asked.calls)
        assert app.current_mode == "ask"
    assert asked.calls == [(run_id,)]
