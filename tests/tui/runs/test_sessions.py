"""The sessions: opened, begun, filtered, named, deleted; every key of the window."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.tui import stored
from tests.tui.waiting import until
from traces.runs import Runs, Sessions
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
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


class Chosen(list[str | None]):
    """What the window returned."""


async def opened(pilot: Pilot[Any], count: int) -> tuple[SessionsScreen, Chosen]:
    """Open the window and wait for its list."""
    chosen = Chosen()
    screen = SessionsScreen()
    pilot.app.action_mode("runs")  # type: ignore[attr-defined]
    await pilot.pause()
    pilot.app.push_screen(screen, chosen.append)
    await until(pilot, lambda: screen.is_mounted and screen.query_one(SessionList).row_count == count)
    return screen, chosen


def shown(screen: SessionsScreen) -> list[str]:
    """The lines of the list."""
    table = screen.query_one(SessionList)
    return [" ".join(map(str, table.get_row_at(row))) for row in range(table.row_count)]


async def test_words_are_looked_for_in_name_and_question(two: list[str], app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen, chosen = await opened(pilot, 2)
        await pilot.press("slash", *"bear")
        await until(pilot, lambda: len(shown(screen)) == 1)
        await pilot.press(*"zzz")
        await until(pilot, lambda: not shown(screen))
        assert "No session matches" in str(screen.query_one("#sessions-none", Static).content)
        screen.query_one("#session-filter", Input).value = "seals"
        await pilot.press("enter")
        await until(pilot, lambda: len(shown(screen)) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: chosen)
    assert chosen == [two[1]]


async def test_a_session_is_named_in_place(two: list[str], app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen, chosen = await opened(pilot, 2)
        await pilot.press("down", "r", *"bearings", "enter")
        await until(pilot, lambda: app.failures)
        assert app.failures[0].error.message == "Another session is called “bearings”."
        await pilot.press("r", *"seals", "enter")
        await until(pilot, lambda: "seals · Who makes the seals?" in " ".join(shown(screen)))
        assert Sessions(open_store()).find("seals").id == two[1]
        await pilot.press("r", "escape")
        assert not chosen  # only the line for the name is left
        assert screen.query_one(SessionList).has_focus


async def test_deleting_asks_first_and_takes_the_runs_along(two: list[str], app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen, _ = await opened(pilot, 2)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is screen)
        assert len(Runs(open_store()).recent()) == 3
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: len(shown(screen)) == 1)
    assert [session.id for session in Sessions(open_store()).recent()] == [two[1]]
    assert len(Runs(open_store()).recent()) == 1


async def test_without_a_session_it_says_what_to_do(app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen, chosen = await opened(pilot, 0)
        await until(
            pilot, lambda: "n begins one" in str(screen.query_one("#sessions-none", Static).content)
        )
        await pilot.press("enter", "r", "d")
        assert app.screen is screen
        await pilot.press("n")
        await until(pilot, lambda: chosen)
    assert chosen == [""]
