"""The stored runs: found, previewed, rated, marked, deleted, taken up again; every key of the list."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.widgets import TextArea

from agent import checkpoints
from agent.plans import wanted
from tests.traces.many_runs import fill
from tests.tui import stored
from tests.tui.app.bare import BareScreen
from tests.tui.conftest import MakeApp
from tests.tui.seen import shown_keys, text_of, toasts
from tests.tui.stored import cut_off
from tests.tui.waiting import PATIENCE, opens, until
from traces.runs import Ratings, Runs, RunSummary
from traces.store import Store, StoreError
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.ask.prompt import Prompt
from tui.ask.screen import AskScreen
from tui.assemble import open_store
from tui.runs.list import RunList, StoredRun, read_run
from tui.runs.replay import ReplayScreen
from tui.runs.screen import RunsScreen
from tui.runs.windows import PlanScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (120, 40)


def listed(app: DeepthinkApp) -> list[str]:
    return [str(row.key.value) for row in app.screen.query_one(RunList).ordered_rows]


async def opened(pilot: Pilot[Any], count: int) -> None:
    """Go to the runs and wait for them and the preview."""
    await opens(pilot, RunsScreen, "f4")
    await shows(pilot, count)


async def shows(pilot: Pilot[Any], count: int) -> None:
    """Wait for so many runs, and for the first preview."""
    runs = pilot.app.screen.query_one(RunList)
    await until(pilot, lambda: runs.row_count == count)
    if count:
        await until(pilot, lambda: text_of(pilot.app.screen, "#preview"))


@pytest.fixture
def three() -> list[str]:
    made = [
        stored.store_run(question="Who makes the seals?", answer="Brevnes [1]."),
        stored.store_run(status="not_found", question="Who paints them?", answer="Not found."),
        stored.store_run(stored.everything()),
    ]
    return made[::-1]


async def test_the_runs_are_listed_newest_first_with_a_preview(three: list[str], app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        assert listed(app) == three
        assert text_of(app.screen, "#run-count") == "3 runs"
        assert stored.QUESTION in text_of(app.screen, "#preview")
        assert "3 sources" in text_of(app.screen, "#preview")
        assert "because enough was found" in text_of(app.screen, "#preview")
        assert "Tolvang supplies it [1]." in text_of(app.screen, "#preview")
        assert "l plan" in text_of(app.screen, "#preview-keys")
        runs = app.screen.query_one(RunList)
        assert stored.QUESTION in str(runs.get_row_at(0)[0])  # what a run is looked for by comes first
        statuses = [str(runs.get_cell(run, "status")) for run in three]
        assert statuses == ["doubts", "not found", "answered"]
        assert "answered with doubts" in text_of(app.screen, "#preview")
        await pilot.press("down")
        await until(pilot, lambda: "Who paints them?" in text_of(app.screen, "#preview"))
        assert "not found in your documents" in text_of(app.screen, "#preview")
        added = stored.store_run(question="Who insures them?")  # by another process
        await until(pilot, lambda: listed(app) == [added, *three])
        assert runs.current_id == three[1]
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: runs.size.height > 1)


async def test_no_other_run_stands_beside_one_that_is_still_read(
    three: list[str], app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = threading.Event()

    def slow(store: Store, run_id: str) -> StoredRun:
        assert run_id == three[0] or read.wait(PATIENCE)
        return read_run(store, run_id)

    monkeypatch.setattr("tui.runs.screen.read_run", slow)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        await pilot.press("down")
        await until(pilot, lambda: not text_of(app.screen, "#preview"))
        read.set()
        await until(pilot, lambda: "Who paints them?" in text_of(app.screen, "#preview"))


async def test_runs_are_found_by_words_and_by_status(
    three: list[str], app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, found = Runs.search, threading.Event()

    def slow(self: Runs, text: str = "", *given: Any, **named: Any) -> list[RunSummary]:
        assert not text or found.wait(PATIENCE)
        return search(self, text, *given, **named)

    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        await pilot.press("slash", *"brevnes")
        await until(pilot, lambda: listed(app) == three[2:])
        assert text_of(app.screen, "#run-count") == "1 run found"
        await pilot.press("x", "y")
        await until(pilot, lambda: "No run matches" in text_of(app.screen, "#runs-none"))
        await pilot.press("escape")
        await until(pilot, lambda: listed(app) == three)
        await until(pilot, lambda: app.screen.query_one(RunList).has_focus)
        await pilot.press("f")
        await until(pilot, lambda: len(listed(app)) == 2)
        assert "‹answered›" in text_of(app.screen, "#run-status")
        await pilot.press("f")
        await until(pilot, lambda: listed(app) == [three[1]])
        await pilot.press("F")
        await until(pilot, lambda: len(listed(app)) == 2)
        await pilot.press("slash", *"seals", "enter")
        await until(pilot, lambda: listed(app) == three[2:])
        assert app.screen.query_one(RunList).has_focus
        assert "To the list" not in shown_keys(app)
        await pilot.press("slash")
        await until(pilot, lambda: "To the list" in shown_keys(app))
        await pilot.press("down")
        assert app.screen.query_one(RunList).has_focus
        await pilot.press("slash", "escape")
        await until(pilot, lambda: listed(app) == three)
        monkeypatch.setattr(Runs, "search", slow)
        await pilot.press("slash", *"seals", "enter", "enter")  # which opens what will be found
        found.set()
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.player)
        assert "Who makes the seals?" in text_of(app.screen, ".question")


async def test_rating_and_deleting_which_asks_first_and_takes_the_mark_along(
    three: list[str], app: DeepthinkApp
) -> None:
    ratings = Ratings(open_store())
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        runs = app.screen.query_one(RunList)
        for key, word in (("g", "good"), ("p", "partly"), ("w", "wrong"), ("w", "")):
            await pilot.press(key)
            await until(pilot, lambda: runs.current and runs.current.rating == word)  # noqa: B023
            row = ratings.of(three[0])
            assert (row.rating if row else "") == word
            assert word in str(runs.get_cell(three[0], "rating"))
            said = f"is rated {word}." if word else "has no rating now."
            assert toasts(app)[-1] == f"Run {three[0]} {said}"  # as `deepthink runs rate` says it
        await opens(pilot, ConfirmScreen, "c", "d")
        await opens(pilot, RunsScreen, "n")
        assert len(Runs(open_store()).recent()) == 3
        await opens(pilot, ConfirmScreen, "delete")
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, RunsScreen) and listed(app) == three[1:])
        assert not Runs(open_store()).events(three[0])
        assert toasts(app)[-1] == f"Deleted run {three[0]}."
        await pilot.press("c")
        assert isinstance(app.screen, RunsScreen), "there is nothing to compare it with"
        assert runs.marked == three[1]


async def test_a_question_is_put_into_the_prompt_and_what_comes_meanwhile_is_there_on_return(
    three: list[str], make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeepthinkApp, "MODES", {**DeepthinkApp.MODES, "ask": AskScreen})
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.query(Prompt))
        assert app.screen.query_one(Prompt).text == stored.QUESTION
        new = stored.store_run(question="What is new?")
        await pilot.press("f4")
        await until(pilot, lambda: listed(app) == [new, *three])
        current = app.screen.query_one(RunList).current
        assert current is not None
        assert current.id == three[0]


async def test_only_what_can_go_on_is_resumed(app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(BareScreen, "resume", lambda _screen, run: resumed.append(run), raising=False)
    resumable, going_on = cut_off(), cut_off()
    stored.store_run()
    with checkpoints.open_checkpoints(open_store(), going_on, lambda _log: None):
        async with app.run_test(size=SIZE) as pilot:
            await opened(pilot, 3)
            assert "running" in str(app.screen.query_one(RunList).get_row(going_on))
            await pilot.press("r", "down", "r")
            await pilot.pause()
            assert app.current_mode == "runs"
            await pilot.press("down")
            await until(pilot, lambda: "r resumes" in text_of(app.screen, "#preview"))
            assert "interrupted" in text_of(app.screen, "#preview")
            await pilot.press("r")
            await until(pilot, lambda: resumed)
            assert app.current_mode == "ask"
    assert resumed == [resumable]


async def test_unfinished_runs_are_shown_alone(app: DeepthinkApp) -> None:
    run_id, failed = cut_off(), cut_off(status="failed")
    stored.store_run()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        await pilot.press("u")
        await until(pilot, lambda: listed(app) == [failed, run_id])
        await until(pilot, lambda: "r resumes" in text_of(app.screen, "#preview"))


async def test_a_list_that_cannot_be_read_says_so_and_is_read_again(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.store_run()
    found = Runs.search

    def broken(*_arguments: object, **_how: object) -> None:
        raise StoreError("The file is damaged.", "Move it away.")

    monkeypatch.setattr(Runs, "search", broken)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f4")
        await until(pilot, lambda: "Move it away.\n\nR tries again." in text_of(app.screen, "#runs-none"))
        assert app.failures
        monkeypatch.setattr(Runs, "search", found)
        await pilot.press("R")
        await shows(pilot, 1)


async def test_a_list_that_is_read_twice_at_once_is_not_read_forever(
    app: DeepthinkApp, three: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def at_once(node: DOMNode, work: Callable[[], Any], then: Callable[[Any], Any], **how: Any) -> None:
        read.append(how["group"])
        assert len(read) < 20
        node.call_later(then, work())

    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        await pilot.press("down")
        monkeypatch.setattr("tui.runs.screen.in_background", at_once)
        screen = app.screen
        assert isinstance(screen, RunsScreen)
        screen.action_refresh()
        screen.action_refresh()
        await until(pilot, lambda: "preview" in read)
        await pilot.pause()
        assert read.count("runs") == 2


async def test_many_runs_come_by_the_page(app: DeepthinkApp) -> None:
    fill(open_store(), 250)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, 100)
        assert text_of(app.screen, "#run-count") == "250 runs"
        for count in (200, 250):
            await pilot.press("end")
            await shows(pilot, count)
        assert len(set(listed(app))) == 250
        runs = app.screen.query_one(RunList)
        await pilot.resize_terminal(60, 24)
        await pilot.pause()
        assert runs.virtual_size.width <= runs.scrollable_content_region.width, "nothing is cut"


async def test_l_says_what_should_have_been_looked_up(three: list[str], app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, 3)
        await opens(pilot, PlanScreen, "l")
        lookups = app.screen.query_one(TextArea)
        await until(pilot, lambda: bool(lookups.text))
        lookups.text = "Who supplies #2?"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: text_of(app.screen, ".note"))
        assert isinstance(app.screen, PlanScreen)
        lookups.text = "[facts] Who supplies the bearings?\n\nWhere is #1?"
        await opens(pilot, RunsScreen, "ctrl+s")
        assert wanted(open_store(), three[0]) == ["[facts] Who supplies the bearings?", "Where is #1?"]
        window = await opens(pilot, PlanScreen, "l")
        await until(pilot, lambda: "[facts] has that collection searched first" in text_of(window, ".note"))
