"""The runs that one can go to on the screen of decisions, while others are asked and deleted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from textual.pilot import Pilot

from tests.tui.conftest import MakeApp
from tests.tui.decisions.test_screen import TAKEN, opened, store_decided, text
from tests.tui.waiting import until
from traces.runs import Runs
from traces.store import Store
from tui.decisions.screen import DecisionsScreen

_NOON = datetime(2026, 3, 14, 12)


def _store(store: Store, *numbers: int) -> list[str]:
    """A run for each of these hours; their ids."""
    return [
        store_decided(store, TAKEN[:1], question=f"Question {n}?", at=_NOON + timedelta(hours=n))
        for n in numbers
    ]


async def _go(pilot: Pilot[Any], screen: DecisionsScreen, key: str, *numbers: int) -> None:
    """Go on by ``key``, and be at each of these in turn."""
    for number in numbers:
        await pilot.press(key)
        await until(pilot, lambda: f"Question {number}?" in text(screen, "#run"))  # noqa: B023


async def test_what_was_asked_meanwhile_is_there_on_return(make_app: MakeApp) -> None:
    app = make_app()
    store = app.engine.store
    _store(store, 0, 1, 2, 3)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await _go(pilot, screen, "left_square_bracket", 2)
        await pilot.press("f2")
        _store(store, 4, 5)
        await pilot.press("f5")
        await until(pilot, lambda: "run 4 of 6" in text(screen, "#run"))
        assert "Question 2?" in text(screen, "#run"), "the person had gone there"
        await _go(pilot, screen, "right_square_bracket", 3, 4, 5)
        await _go(pilot, screen, "left_square_bracket", 4, 3, 2, 1, 0)
        assert "run 6 of 6" in text(screen, "#run")


async def test_what_was_deleted_meanwhile_is_gone(make_app: MakeApp) -> None:
    app = make_app()
    ids = _store(app.engine.store, 0, 1, 2, 3)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await _go(pilot, screen, "left_square_bracket", 2, 1)
        await pilot.press("f2")
        for n in (2, 3):
            Runs(app.engine.store).delete(ids[n])
        await pilot.press("f5")
        await until(pilot, lambda: "run 1 of 2" in text(screen, "#run"))
        await _go(pilot, screen, "left_square_bracket", 0)


async def test_the_first_decisions_are_shown_on_return(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert "No decisions yet" in text(screen, "#told")
        await pilot.press("f2")
        _store(app.engine.store, 0)
        await pilot.press("f5")
        await until(pilot, lambda: "Question 0?" in text(screen, "#run"))
