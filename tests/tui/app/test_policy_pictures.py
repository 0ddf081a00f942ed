"""How the screen of the policy looks."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual_plotext import PlotextPlot

from tests.tui.app.conftest import Look, MakeApp, Snap
from tests.tui.app.test_policy import opened, some, text
from tests.tui.app.waiting import until


def test_empty(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@pytest.mark.parametrize("end", [False, True], ids=["top", "end"])
def test_filled(
    end: bool, look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy.gathered.gathered", lambda _store: some())

    async def before(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.query(PlotextPlot))
        if end:
            await pilot.press("end")
        await pilot.pause()

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


def test_an_error(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_store: object) -> None:
        from traces.store import StoreError

        raise StoreError("The file cannot be read.", "If it is damaged, move it away and ingest again.")

    monkeypatch.setattr("policy.gathered.gathered", broken)

    async def before(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await until(pilot, lambda: "cannot be used" in text(screen, "#told"))

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)
