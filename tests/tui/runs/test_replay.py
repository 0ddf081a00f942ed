"""A stored run, seen again: the player's positions, every key of its screen, and what is beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widgets import TabbedContent

from agent import events as ev
from tests.tui import parts, stored
from tests.tui.app.bare import BareScreen
from tests.tui.library.shelf import put
from tests.tui.seen import shown_keys
from tests.tui.waiting import opens, until
from traces.decisions import Labels
from traces.library import Library
from traces.runs import Runs
from tui.app.app import DeepthinkApp
from tui.assemble import open_store
from tui.decisions.strip import DecisionStrip
from tui.library.passage import PassageScreen
from tui.run.exchange import Answer
from tui.run.fold import RunFold, stored_events
from tui.run.live import Meters
from tui.run.panel import PlanTree
from tui.run.words import as_text
from tui.runs.replay import Player, PlayerBar, ReplayScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (120, 40)


def a_run(gap: float = 10.0) -> list[tuple[float, ev.Event]]:
    """A run of two steps, with seconds between its events."""
    events = [e for e in parts.whole_run() if e.stored]
    step = next(n for n, e in enumerate(events) if isinstance(e, ev.StepStarted))
    end = next(n for n, e in enumerate(events) if isinstance(e, ev.Decided))
    second = [replace(e, step=2) if isinstance(e, ev.StepStarted) else e for e in events[step:end]]
    events[end + 1 : end + 1] = second
    return [(gap * n, event) for n, event in enumerate(events)]


@pytest.fixture
def player() -> Player:
    """At the beginning of that run."""
    return Player(a_run())


def test_each_position_is_the_fold_of_what_came_before(player: Player) -> None:
    count = len(player.events)
    for position in [*range(count, -1, -1), *range(count + 1)]:
        player.seek(position)
        fold = RunFold()
        fold.take_all(player.events[:position])
        fold.elapsed = player.fold.elapsed
        assert player.fold == fold
        assert player.position == position
    assert player.elapsed == player.total == player.fold.elapsed


def test_research_steps_are_gone_through(player: Player) -> None:
    first, second = player.steps
    assert player.step_position(1) == first
    player.seek(first)
    assert isinstance(player.last_event, ev.StepStarted)
    assert (player.step_position(1), player.step_position(-1)) == (second, 0)
    player.seek(second + 1)
    assert (player.step_position(1), player.step_position(-1)) == (len(player.events), second)


def test_long_waits_are_cut_short_and_what_is_close_together_is_shown_together(player: Player) -> None:
    assert player.clock[:3] == [0.0, 1.0, 2.0]
    shown = []
    for clock in (0.0, 0.5, 1.25):
        player.play(clock)
        shown.append((player.position, player.elapsed, player.fold.elapsed))
    assert shown == [(1, 0.0, 0.0), (1, 0.0, 0.0), (2, 10.0, 10.0)], "the time is the run's"
    quick = Player(a_run(0.01))
    quick.play(0.055)
    assert quick.position == 6
    quick.play(10.0)
    assert quick.over


def test_every_event_that_is_stored_has_words_that_cannot_steer_the_terminal() -> None:
    events = [event for _, event in stored.everything()] + [e for e in parts.whole_run() if e.stored]
    for event in [*events, ev.NotebookGrew(stored.EVIL), ev.Steered("skip"), ev.Resumed("", "", "", "")]:
        line = as_text(event)
        assert line
        assert "\x1b" not in line
        assert "\n" not in line


async def replayed(pilot: Pilot[Any], run_id: str) -> ReplayScreen:
    """The replay of a run, from the list of runs."""
    app = cast(DeepthinkApp, pilot.app)
    app.action_mode("runs")
    await pilot.pause()
    screen = ReplayScreen(run_id)
    app.push_screen(screen)
    await until(pilot, lambda: screen.player.position)
    assert screen.player.over, "a finished run is shown, not the first of its events"
    await screen._move(1)
    await pilot.pause()
    return screen


def words(screen: ReplayScreen) -> str:
    """What the player says of the last event."""
    return str(screen.query_one(PlayerBar).render()).splitlines()[1]


def track(screen: ReplayScreen) -> str:
    return str(screen.query_one(PlayerBar).render()).splitlines()[0]


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
        await pilot.press("left")
        assert screen.player.position == 0
        assert words(screen) == "Before the beginning: Space plays."
        await pilot.press("end")
        assert screen.player.over
        assert words(screen).startswith("end: answered with doubts, ")


async def test_an_answer_is_there_once_given_is_marked_and_its_citations_open(
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
        before = answer.render_lines(Region(0, 0, 1, 1))[0].text
        answer.focus()
        await until(pilot, lambda: answer.has_focus)
        assert answer.render_lines(Region(0, 0, 1, 1))[0].text != before
        await until(pilot, lambda: "Next" in shown_keys(app))
        assert not {"Good", "Plan", "Copy"} & shown_keys(app), "what only Ask does"
        await opens(pilot, PassageScreen, "right", "enter")


async def test_it_plays_to_the_end_and_begins_anew(
    run_id: str, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.runs.replay._MAX_WAIT", 0.01)
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
        await pilot.click(PlayerBar, offset=(track(screen).index("●") - 30, 0))
        await until(pilot, lambda: 2 < screen.player.position < len(screen.player.events))


async def test_it_says_where_the_run_searched(run_id: str, app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        for collection, scope in (("facts", "all your collections"), ("letters", "only facts, web")):
            put(Library(app.engine.store), collection, "a.md", [("", "Tolvang supplies the bearings.")])
            screen = await replayed(pilot, run_id)
            assert str(screen.query_one(Meters).render()).split("  ·  ")[1] == scope
            await pilot.press("escape")


async def test_what_can_go_on_is_resumed(app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(BareScreen, "resume", lambda _screen, run: resumed.append(run), raising=False)
    unfinished = stored.cut_off(status="cancelled")
    async with app.run_test(size=SIZE) as pilot:
        for run_id in (stored.store_run(), stored.store_run(status="cancelled"), unfinished):
            screen = await replayed(pilot, run_id)
            assert ("Resume" in shown_keys(app)) is (run_id == unfinished)
            await pilot.press("r")
        await until(pilot, lambda: resumed)
        assert app.current_mode == "ask"
        assert screen not in app.get_screen_stack("runs")
    assert resumed == [unfinished]


async def test_a_search_that_added_nothing_stands_in_the_line_of_the_first(
    run_id: str, app: DeepthinkApp
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        plan = screen.query_one(PlanTree)

        def tried() -> str:
            return " ".join(str(plan.get_option_at_index(0).prompt).split())

        await screen._move(next(n for n, e in enumerate(screen.player.events) if isinstance(e, ev.Graded)))
        assert tried().count("search: ") == 2, "nothing is kept yet"
        await pilot.press("end")
        plan.focus()
        plan.highlighted = 0
        await pilot.press("enter")
        assert tried().count("search: ") == 2, "the first one, and that of the web"
        assert "2 passages); also: supplier of it" in tried()


async def test_a_decision_can_be_labelled(app: DeepthinkApp) -> None:
    run_id = stored.store_run([(1.0, parts.decided())])
    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        await pilot.press("end")
        screen.query_one(TabbedContent).active = "decisions"
        await pilot.pause()
        strip = screen.query_one(DecisionStrip)
        strip.focus()
        await until(pilot, lambda: strip.current)
        await pilot.press("3")
        await until(pilot, lambda: strip.current and strip.current.label)
        assert Labels(open_store()).of_run(run_id)[0].action == "FINISH"
        await pilot.press("backspace")
        await until(pilot, lambda: not Labels(open_store()).of_run(run_id))


async def test_a_run_that_came_without_its_events_shows_decisions_and_answer(app: DeepthinkApp) -> None:
    shadow = parts.shadow("REVISE", (0.1, 0.7, 0.2))
    run_id = stored.store_run([(1.0, parts.decided("FINISH", source="learned", shadow=shadow))])
    with open_store().connect() as db:
        db.execute("DELETE FROM events WHERE run_id = ?", [run_id])

    implied = [event for _, event in stored_events(open_store(), Runs(open_store()).find(run_id))]
    assert [event.kind for event in implied] == ["RunStarted", "Decided", "Answered", "RunFinished"]
    assert isinstance(implied[1], ev.Decided)
    assert implied[1].shadow is not None
    assert implied[1].shadow["action"] == "REVISE"

    async with app.run_test(size=SIZE) as pilot:
        screen = await replayed(pilot, run_id)
        await pilot.press("end")
        await pilot.pause()
        assert screen.player.fold.decisions == [implied[1]]
        assert "Tolvang." in screen.query_one(Answer).source
