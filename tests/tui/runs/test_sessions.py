"""Sessions: listed, read, opened, named and deleted, in the window and as commands."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from agent import checkpoints
from agent import events as ev
from tests.tui import stored
from tests.tui.conftest import Run
from tests.tui.seen import text_of, toasts
from tests.tui.waiting import until
from traces.runs import Runs, Sessions
from tui.app.app import DeepthinkApp
from tui.assemble import open_store
from tui.runs.windows import SessionList, SessionsScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (120, 40)


@pytest.fixture
def two() -> list[str]:
    """A session without a name, then a named one of two runs, which was used last."""
    sessions = Sessions(open_store())
    plain = sessions.begin()
    stored.store_run(session=plain, question="Who makes the seals?")
    named = sessions.begin("bearings")
    stored.store_run(session=named)
    stored.store_run(session=named, question=stored.ASKED)
    return [named, plain]


async def opened(pilot: Pilot[Any], count: int) -> tuple[SessionsScreen, list[str | None]]:
    """Open the window and wait for its list."""
    chosen: list[str | None] = []
    screen = SessionsScreen()
    pilot.app.push_screen(screen, chosen.append)
    await until(pilot, lambda: screen.is_mounted and screen.query_one(SessionList).row_count == count)
    return screen, chosen


def shown(screen: SessionsScreen) -> list[str]:
    table = screen.query_one(SessionList)
    return [" ".join(map(str, table.get_row_at(row))) for row in range(table.row_count)]


async def test_a_session_is_named_in_place(two: list[str], app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen, chosen = await opened(pilot, 2)
        await pilot.press("down", "r", *"bearings", "enter")
        await until(pilot, lambda: app.failures)
        assert app.failures[0].error.message == "Another session is called “bearings”."
        await pilot.press("r", *"seals", "enter")
        await until(pilot, lambda: "seals · Who makes the seals?" in " ".join(shown(screen)))
        assert Sessions(open_store()).find("seals").id == two[1]
        assert toasts(app)[-1] == f"Session {two[1]} is called “seals” now."
        await pilot.press("r", "escape")
        assert not chosen  # only the line for the name is left
        assert screen.query_one(SessionList).has_focus
        await pilot.press("enter")
        await until(pilot, lambda: chosen)
    assert chosen == [two[1]]


async def test_without_a_session_the_window_says_what_to_do(app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen, chosen = await opened(pilot, 0)
        await until(pilot, lambda: "n begins one" in text_of(screen, "#sessions-none"))
        await pilot.press("enter", "r", "d")
        assert app.screen is screen
        await pilot.press("n")
        await until(pilot, lambda: chosen)
    assert chosen == [""]


@pytest.fixture
def session() -> str:
    """A session of two questions; the second leant on the first."""
    session_id = Sessions(open_store()).begin()
    stored.store_run(session=session_id, answer="Tolvang [1].")
    routed = ev.Routed("single", "one fact", "rules", stored.ASKED, "Who supplies the seals?")
    stored.store_run([(0.1, routed)], session=session_id, question=stored.ASKED, answer="Brevnes [1].")
    return session_id


def test_without_a_session_it_says_what_to_do(deepthink: Run) -> None:
    for arguments in (("sessions",), ("sessions", "list")):
        assert "deepthink ask" in deepthink(*arguments).out


def test_the_list_says_what_each_began_with(session: str, deepthink: Run) -> None:
    Sessions(open_store()).begin("empty one")
    lines = {line.split()[0]: line for line in deepthink("sessions").out.splitlines() if line.strip()}
    assert stored.QUESTION in lines[session]
    assert " 2 " in lines[session]
    assert "empty one" not in " ".join(lines.values()), "nothing was asked in it"


def test_a_session_is_shown_as_a_conversation(session: str, deepthink: Run) -> None:
    runs = Runs(open_store()).of_session(session)
    for wanted in (session, session[:5], "last"):
        out = deepthink("sessions", "show", wanted).out
        lines = [line.strip() for line in out.splitlines() if line.strip()]
        assert lines[0] == f"session {session}"
        assert lines[1:3] == [f"› {stored.QUESTION}", "Tolvang [1]."]
        assert lines[4] == f"› {stored.ASKED}"
        assert all(f"run {run.id} · " in out for run in runs)
    assert deepthink("sessions", "show").out == out


def test_a_follow_up_is_shown_with_what_it_was_taken_to_ask(deepthink: Run) -> None:
    session_id = Sessions(open_store()).begin("bearings")
    run_id = stored.store_run(session=session_id, question=stored.ASKED, status="running")
    shown = deepthink("sessions", "show", "bearings").out
    assert "no answer yet" in shown
    assert "unfinished" in shown
    with open_store().transaction() as db:
        db.execute("UPDATE runs SET standalone = ? WHERE id = ?", [stored.QUESTION, run_id])
    assert f"taken to ask: {stored.QUESTION}" in deepthink("sessions", "show", "bearings").out


def test_a_session_can_be_named_and_found_by_its_name(session: str, deepthink: Run) -> None:
    named = deepthink("sessions", "name", session[:4], "bearings")
    assert (named.code, named.err) == (0, "")
    assert "“bearings”" in named.out
    assert deepthink("sessions", "show", "bearings").out.startswith(f"session {session} “bearings”")
    deepthink("sessions", "name", "bearings", "ball bearings")
    assert deepthink("sessions", "show", "ball bearings").code == 0


def test_what_cannot_be_is_one_sentence_and_a_way_out(session: str, deepthink: Run) -> None:
    other = Sessions(open_store()).begin("taken")
    stored.store_run(session=other)
    stored.store_run(session=session)  # so that it is the last
    for arguments, words in (
        (("show", "nope"), "no session “nope”"),
        (("name", "nope", "other"), "no session “nope”"),
        (("delete", "nope", "--yes"), "no session “nope”"),
        (("name", "last", "last"), "“last” is not a valid session name"),
        (("name", "last", " "), "is not a valid session name"),
        (("name", "last", "taken"), "Another session is called “taken”"),
        (("delete", "last"), "Add --yes"),
        (("name", "last"), "Missing argument 'NAME'"),
    ):
        assert words in deepthink("sessions", *arguments).refused()
    assert {s.id for s in Sessions(open_store()).recent()} == {session, other}


def test_deleting_takes_the_runs_and_their_checkpoints_along(session: str, deepthink: Run) -> None:
    store = open_store()
    cut_off, elsewhere = stored.cut_off(session=session), stored.cut_off()
    delete = ("sessions", "delete", session, "--yes")
    with checkpoints.open_checkpoints(store, cut_off, lambda _log: None):
        assert cut_off in deepthink(*delete).refused(), "it is going on"
    assert len(Runs(store).of_session(session)) == 3
    ran = deepthink(*delete)
    assert (ran.code, ran.err) == (0, "")
    assert f"Deleted session {session} with 3 runs." in ran.out
    assert [run.id for run in Runs(store).recent()] == [elsewhere]
    assert not Runs(store).events(cut_off)
    left = {path.name.partition(".")[0] for path in checkpoints.folder(store).iterdir()}
    assert left == {elsewhere}
