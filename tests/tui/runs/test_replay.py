"""A stored run, seen again on the screen: every key of the player, and what can be done beside it."""

from __future__ import annotations

from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Static, TabbedContent

from agent import events as ev
from tests.tui import stored
from tests.tui.conftest import MakeApp
from tests.tui.waiting import until
from traces.runs import DecisionRow, Labels, Runs
from tui.app.app import DeepthinkApp
from tui.assemble import open_store
from tui.decisions.strip import DecisionStrip
from tui.library.passage import PassageScreen
from tui.run.exchange import Answer
from tui.run.fold import stored_events
from tui.runs.replay import ReplayScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (120, 40)


async def replayed(pilot: Pilot[Any], run_id: str) -> ReplayScreen:
    """The replay of a run, from the list of runs."""
    app = cast(DeepthinkApp, pilot.app)
    app.action_mode("runs")
    await pilot.pause()
    screen = ReplayScreen(run_id)
    app.push_screen(screen)
    await until(pilot, lambda: screen.player.position)
    assert screen.player.over, "a finished run is shown, not the first of its events"
    await screen._go(1)
    await pilot.pause()
    return screen


def words(screen: ReplayScreen) -> str:
    """What the player says of the last event."""
    return str(screen.query_one("#player-words", Static).content)


def track(screen: ReplayScreen) -> str:
    """The player's first line."""
    return str(screen.query_one("#player-track", Static).content)


@pytest.fixture
def run_id() -> str:
    """A run in which everything happened."""
    return stored.store_run(stored.everything())


async def test_events_are_gone_through_one_by_one(run_id: str, app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        count = len(Runs(open_store()).events(run_id))
        assert words(screen) == f"question: {stored.QUESTION}"
        assert f"1/{count}" in track(screen)
        await pilot.press("right", "right")
        assert words(screen).startswith("model call: route, 50 read")
        assert screen.player.position == 3
        await pilot.press("left")
        assert screen.player.position == 2
        await pilot.press("home")
        assert (screen.player.position, words(screen)) == (0, "Before the beginning: Space plays.")
        await pilot.press("left")
        assert screen.player.position == 0
        await pilot.press("end")
        assert screen.player.over
        assert words(screen).startswith("end: answered, ")
        assert track(screen).startswith("■")


async def test_an_answer_is_on_the_screen_once_it_was_given_and_its_citations_open(
    run_id: str, app: DeepthinkApp
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        assert not screen.query_one(Answer).source
        await pilot.press("end")
        await until(pilot, lambda: "It burnt in May" in screen.query_one(Answer).source)
        await pilot.press("p")
        await until(pilot, lambda: not screen.query_one(Answer).source)
        await pilot.press("end", "home", "end")
        answer = screen.query_one(Answer)
        await until(pilot, lambda: answer.citations)
        answer.focus()
        await pilot.press("right", "enter")
        await until(pilot, lambda: isinstance(app.screen, PassageScreen))


async def test_it_plays_to_the_end_and_begins_anew(
    run_id: str, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.runs.replay._MAX_WAIT", 0.01)
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        await pilot.press("space")
        await until(pilot, lambda: screen.player.over)
        assert track(screen).startswith("■")
        screen.player.clock = [60.0 * number for number in range(len(screen.player.events))]
        await pilot.press("space")
        assert not screen.player.over
        assert track(screen).startswith("▶")
        await pilot.press("space")
        assert track(screen).startswith("‖")
        here = screen.player.position
        await pilot.pause(0.1)
        assert screen.player.position == here
        await pilot.press("end")
        await pilot.click("#player-track", offset=(track(screen).index("●") - 30, 0))
        await until(pilot, lambda: 2 < screen.player.position < len(screen.player.events))


async def test_a_decision_can_be_labelled(make_app: MakeApp) -> None:
    taken = {"CONTINUE": 0.2, "REVISE": 0.1, "FINISH": 0.7}
    valid = ["CONTINUE", "REVISE", "FINISH"]
    decided = ev.Decided(1, 1, {}, valid, "FINISH", taken, "rules", 0.3, "", 1.0)
    run_id = stored.store_run([(1.0, decided)])
    row = DecisionRow(0, 1, 1, {}, tuple(valid), "FINISH", taken, 1.0, "rules", 0.3)
    Runs(open_store()).record(run_id, [], [row])
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        await pilot.press("end")
        screen.query_one(TabbedContent).active = "decisions"
        await pilot.pause()
        strip = screen.query_one(DecisionStrip)
        strip.focus()
        await until(pilot, lambda: strip.current)
        await pilot.press("1")
        await until(pilot, lambda: Labels(open_store()).of_run(run_id))
        assert Labels(open_store()).of_run(run_id)[0].action == "CONTINUE"
        await pilot.press("backspace")
        await until(pilot, lambda: not Labels(open_store()).of_run(run_id))


async def test_a_run_that_came_without_its_events_shows_its_decisions_and_its_answer(
    make_app: MakeApp,
) -> None:
    taken = {"CONTINUE": 0.1, "REVISE": 0.2, "FINISH": 0.7}
    valid = ("CONTINUE", "REVISE", "FINISH")
    row = DecisionRow(0, 1, 1, {}, valid, "FINISH", taken, 0.7, "learned", 0.3, "enough is known")
    other = DecisionRow(0, 1, 1, {}, valid, "REVISE", taken, 0.2, "llm", 900.0, shadow=True)
    run_id = stored.store_run()
    runs = Runs(open_store())
    runs.record(run_id, [], [row, other])
    with open_store().connect() as db:
        db.execute("DELETE FROM events WHERE run_id = ?", [run_id])

    implied = [event for _, event in stored_events(open_store(), runs.find(run_id))]
    assert [event.kind for event in implied] == ["RunStarted", "Decided", "Answered", "RunFinished"]
    assert isinstance(implied[1], ev.Decided)
    assert implied[1].shadow is not None
    assert implied[1].shadow["action"] == "REVISE"

    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        await pilot.press("end")
        await pilot.pause()
        assert screen.player.fold.decisions == [implied[1]]
        assert "Tolvang." in screen.query_one(Answer).source
