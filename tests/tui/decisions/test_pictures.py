"""How the screen of decisions looks."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import Picture, looks
from tests.tui.decisions.test_screen import ASKED, QUESTION, TAKEN, going_on, opened, store_decided
from tests.tui.seen import text_of
from tests.tui.waiting import until
from tui.app.app import DeepthinkApp
from tui.assemble import open_store
from tui.decisions.strip import DecisionStrip

pytestmark = pytest.mark.usefixtures("utc")


@looks("80x24-dark", "120x40-light")
def test_a_run(picture: Picture) -> None:
    store_decided(open_store(), question="Who supplies it?", at=datetime(2026, 3, 13))
    store_decided(open_store(), labels={0: "FINISH"})

    async def before(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.query_one(DecisionStrip).option_count == len(TAKEN))
        await pilot.press("home", "down")
        await pilot.pause()

    picture(before)


@looks("80x24-dark")
def test_a_run_that_asks(picture: Picture) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        asking, fold = going_on(cast(DeepthinkApp, pilot.app), TAKEN[0], TAKEN[1])
        asking.teaching = True
        fold.take(ASKED)
        screen = await opened(pilot)
        await until(pilot, lambda: QUESTION in text_of(screen, "#run"))
        await until(pilot, lambda: screen.query_one(DecisionStrip).option_count == 3)

    picture(before)
