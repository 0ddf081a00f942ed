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
from tui.assemble import open_store
from tui.run.fold import events_of
from tui.runs.unfinished import UnfinishedScreen, find_unfinished, worth_offering

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (120, 40)


async def shown(pilot: Pilot[Any]) -> tuple[UnfinishedScreen, list[Run | None]]:
    """The window over what is there."""
    chosen: list[Run | None] = []
    screen = UnfinishedScreen(find_unfinished(open_store()).entries)
    pilot.app.action_mode("runs")  # type: ignore[attr-defined]
    await pilot.pause()
    pilot.app.push_screen(screen, chosen.append)
    await until(pilot, lambda: screen.is_mounted and screen.query(OptionList))
    return screen, chosen


def told(screen: UnfinishedScreen) -> list[str]:
    """What is said of each run."""
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
        return [entry.run.id for entry in find_unfinished(store).entries] == ids

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
    last = events_of(Runs(store).events(run_id))[-1]
    assert isinstance(last, ev.RunFinished)
    assert last.seconds == 0.9
    assert Runs(store).find(failed).status == "failed"


async def test_what_another_process_works_on_is_left_to_it(make_app: MakeApp) -> None:
    run_id = stored.store_run(status="running")
    app = make_app()
    with checkpoints.opened(open_store(), run_id, lambda _log: None):
        async with app.run_test(size=SIZE) as pilot:
            screen, chosen = await shown(pilot)
            assert "is going on" in told(screen)[0]
            await pilot.press("enter")
            await pilot.pause()
            assert not chosen
            await pilot.press("d")
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            await pilot.press("y")
            await until(pilot, lambda: app.failures)
            await until(pilot, lambda: screen._current)  # it can be given up later
    assert app.failures[0].error.title == "The run is still going on"


def test_what_a_person_cancelled_is_not_offered_unasked() -> None:
    store = open_store()
    wanted = [cut_off(status=status) for status in ("running", "failed", "waiting")]
    cancelled, elsewhere = cut_off(status="cancelled"), stored.store_run(status="running")
    with checkpoints.opened(store, elsewhere, lambda _log: None):
        entries = find_unfinished(store).entries
        assert [entry.run.id for entry in entries] == [elsewhere, cancelled, *wanted[::-1]]
        assert [entry.run.id for entry in worth_offering(entries)] == wanted[::-1]


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
