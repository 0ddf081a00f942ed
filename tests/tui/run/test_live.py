"""A run when the app is left."""

from __future__ import annotations

from pathlib import Path

from tests.tui.conftest import Answering, Gate, MakeApp
from tests.tui.run.test_steering import held
from tui.assemble import open_store
from tui.runs.unfinished import find_unfinished, offered


async def test_leaving_the_app_interrupts_what_goes_on(make_app: MakeApp, filled: Path) -> None:
    gate = Gate()
    app = make_app(Answering(during=gate))
    async with app.run_test(size=(80, 24)) as pilot:
        await held(pilot, gate)
        await pilot.press("ctrl+q")
    (left,) = offered(find_unfinished(open_store()).found)
    assert (left.why, left.run.status, left.run.finished) == ("interrupted", "running", None)
