"""How the screen of decisions looks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import Look, MakeApp, Snap, looks
from tests.tui.decisions.test_screen import ASKED, QUESTION, TAKEN, going_on, opened, store_decided, text
from tests.tui.waiting import until
from tui.decisions.strip import DecisionStrip

pytestmark = pytest.mark.usefixtures("utc")


@looks("80x24-dark", "120x40-light")
def test_a_run(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    store_decided(app.engine.store, question="Who supplies it?", at=datetime(2026, 3, 13))
    store_decided(app.engine.store, labels={0: "FINISH"})

    async def before(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.query_one(DecisionStrip).option_count == len(TAKEN))
        await pilot.press("home", "down")
        await pilot.pause()

    assert snap_compare(app, terminal_size=look.size, run_before=before)


@looks("80x24-dark")
def test_a_run_that_asks(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)

    async def before(pilot: Pilot[Any]) -> None:
        asking, fold = going_on(app, TAKEN[0], TAKEN[1])
        asking.teaching = True
        fold.take(ASKED)
        screen = await opened(pilot)
        await until(pilot, lambda: QUESTION in text(screen, "#run"))
        await until(pilot, lambda: screen.query_one(DecisionStrip).option_count == 3)

    assert snap_compare(app, terminal_size=look.size, run_before=before)
