"""Pictures of the stored runs: the list in its states, replay, comparison, and the windows over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from tests.tui import stored
from tests.tui.conftest import Picture, Scene, looks
from tests.tui.runs.test_compare import two_runs
from tests.tui.seen import text_of
from tests.tui.stored import cut_off
from tests.tui.waiting import until
from traces.runs import Ratings, Sessions
from tui.assemble import open_store
from tui.run.exchange import Answer
from tui.runs.compare import CompareScreen
from tui.runs.list import RunList
from tui.runs.replay import ReplayScreen
from tui.runs.screen import RunsScreen
from tui.runs.windows import ExportScreen, SessionList, SessionsScreen

pytestmark = pytest.mark.usefixtures("bare", "utc")
LONG = "Which single supplier does Orlavane buy its ceramic bearings from, and why only one?"
_NOON = datetime(2026, 3, 14, 12, 0)


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments a minute apart by a clock in UTC, ids in order."""
    moments, ids = count(), count(1)
    for module in ("traces.decisions", "traces.runs", "traces.store"):
        monkeypatch.setattr(f"{module}.now", lambda: _NOON + timedelta(minutes=next(moments)))
    monkeypatch.setattr("tui.runs.list.now", lambda: _NOON)
    monkeypatch.setattr("uuid.uuid4", lambda: UUID(int=next(ids) * (2**96 + 2**80)))


def some_runs() -> None:
    """Runs of every status, some of them rated."""
    questions = [
        (LONG, "answered"),
        ("What is the boiling point of the sealant?", "not_found"),
        ("Who owns the plant in Brevnes?", "cancelled"),
        ("Compare the revenue of 2023 and 2024.", "failed"),
        (stored.QUESTION, "answered"),
    ]
    ids = [stored.store_run(question=question, status=status) for question, status in questions]
    for run_id, rating in zip(ids, ("wrong", "partly"), strict=False):
        Ratings(open_store()).rate(run_id, rating)  # type: ignore[arg-type]
    cut_off(question="What stopped production in May?")
    Ratings(open_store()).rate(stored.store_run(stored.everything()), "good")


async def listed(pilot: Pilot[Any]) -> None:
    """Go to the list and wait for what it shows."""
    await pilot.press("f4")
    await until(pilot, lambda: pilot.app.screen.query(RunList))
    screen = cast(RunsScreen, pilot.app.screen)
    await until(pilot, lambda: text_of(screen, "#preview"))


def still(pilot: Pilot[Any]) -> None:
    for line in pilot.app.screen.query(Input):
        line.cursor_blink = False


def over(make: Callable[[], Screen[Any]], ready: Callable[[Any], object], *keys: str) -> Scene:
    """Lay a screen over the list, wait until it is ready, press keys."""

    async def run(pilot: Pilot[Any]) -> None:
        await listed(pilot)
        screen = make()
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: ready(screen))
        still(pilot)
        for key in keys:
            await pilot.press(key)
        await pilot.pause()

    return run


@looks("120x40-light")
def test_the_list(picture: Picture) -> None:
    some_runs()
    picture(listed)


@pytest.mark.parametrize(
    ("keys", "look"),
    [
        pytest.param(("n", "right", "right", "right", "right"), "120x40-dark", id="middle-120x40-dark"),
        pytest.param(("end",), "80x24-dark", id="end-80x24-dark"),
    ],
    indirect=["look"],
)
def test_the_replay(keys: Sequence[str], picture: Picture) -> None:
    run_id = stored.store_run(stored.everything(), question=stored.ASKED)

    async def played(pilot: Pilot[Any]) -> None:
        await over(lambda: ReplayScreen(run_id), lambda screen: screen.player.position, *keys)(pilot)
        if "end" in keys:
            await until(pilot, lambda: pilot.app.screen.query_one(Answer).citations)

    picture(played)


@looks("120x40-dark")
def test_the_comparison(picture: Picture) -> None:
    ids = two_runs()
    picture(over(lambda: CompareScreen(*ids), lambda screen: len(screen.query(".section")) == 8))


@looks("80x24-dark")
def test_the_sessions(picture: Picture) -> None:
    sessions = Sessions(open_store())
    for name in ("", "bearings"):
        session = sessions.begin(name)
        stored.store_run(session=session)
        stored.store_run(session=session, question=stored.ASKED)
    picture(over(SessionsScreen, lambda screen: screen.query_one(SessionList).row_count == 2, "down", "r"))


@looks("80x24-dark")
def test_the_export(picture: Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    window = ExportScreen(stored.store_run(), stored.QUESTION)
    picture(over(lambda: window, lambda screen: screen.is_mounted, "down"))
