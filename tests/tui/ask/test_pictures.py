"""How asking looks: before anything, while a run goes on, when it asks, when it failed, when it is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from agent import events as ev
from agent.state import PlanStep
from models.protocols import ModelError
from tests.tui import parts
from tests.tui.ask.test_screen import ready
from tests.tui.conftest import Picture, Scene
from tests.tui.waiting import until
from tui.app.work import Job
from tui.app.work import failed as failure
from tui.ask.prompt import Prompt
from tui.ask.screen import AskScreen
from tui.run.live import LiveRun
from tui.run.panel import EvidenceList, PlanTree, RunPanel


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are begun and never work: what they tell comes from the test."""
    monkeypatch.setattr(LiveRun, "start", lambda _run, _shown_by: None)


async def running(pilot: Pilot[int], *events: ev.Event) -> AskScreen:
    screen = await ready(pilot)
    screen.ask(parts.LONG)
    await until(pilot, lambda: screen.query(RunPanel) and screen.exchange and screen.exchange.is_mounted)
    await pilot.pause()
    screen._fold_events(list(events))
    await pilot.pause()
    return screen


def research() -> list[ev.Event]:
    """A run in its second step."""
    second = "What happened to its plant in 2025?"
    plan = [parts.STEP, PlanStep({**parts.STEP, "question": second})]
    first = parts.evidence(1, passage_id=10)
    grades = ["correct", "incorrect", "incorrect", "incorrect"]
    return [
        parts.started(),
        ev.Routed("deep", "It needs one fact to find another.", "rules", parts.LONG, parts.LONG),
        ev.Planned(plan, 0, "model"),
        ev.StepStarted(1, parts.STEP),
        parts.search(1, "single supplier ceramic bearings", 4),
        ev.Graded(1, "correct", "calibrated", [10, 11, 12, 13], grades, [0.9, 0.2, 0.1, 0.1]),
        ev.EvidenceKept(1, [first], []),
        ev.Noted(parts.note("It is Tolvang Ceramics."), "rule"),
        parts.decided(),
        ev.StepStarted(2, plan[1]),
        ev.ModelCalled("plan", 1200, 800, 60, 7.5),
        ev.NodeStarted("retrieve", 2),
        ev.Heartbeat("retrieve", 2, 12.0, 60),
    ]


async def before_anything(pilot: Pilot[int]) -> None:
    await ready(pilot)


async def researching(pilot: Pilot[int]) -> None:
    await running(pilot, *research())


async def failed(pilot: Pilot[int]) -> None:
    screen = await running(pilot, *research(), parts.finished("failed", "ModelError: it fell over"))
    assert screen.live is not None
    error = ModelError("The engine fell over.", "Start it again, or choose a smaller model.")
    screen.post_message(Job.Ended(screen.live, failure(error)))
    await until(pilot, lambda: screen.live is None)


async def answered(pilot: Pilot[int]) -> None:
    screen = await running(pilot, *parts.whole_run())
    assert screen.live is not None
    screen.post_message(Job.Ended(screen.live, None))
    await until(pilot, lambda: screen.live is None)
    await pilot.press("ctrl+y")


async def asking_what_becomes_of_the_answer(pilot: Pilot[int]) -> None:
    claims = [parts.claim("Orlavane buys them from Mars", "not", "“Mars” does not stand in [1]")]
    asked = ev.Asked("approve", "What now?", ["accept", "rewrite", "search", "stop"], claims)
    screen = await running(pilot, *research(), asked)
    await until(pilot, lambda: screen.query("AskedBox OptionList"))
    prompt = screen.query_one(Prompt)
    await until(pilot, lambda: len(str(prompt.placeholder)) < prompt.size.width)  # its hint fits


async def thinking(pilot: Pilot[int]) -> None:
    await running(pilot, *research())
    await pilot.press("ctrl+l")
    await until(pilot, lambda: isinstance(pilot.app.focused, PlanTree))
    await pilot.press("right")
    await until(pilot, lambda: isinstance(pilot.app.focused, EvidenceList))


@pytest.mark.parametrize(
    ("scene", "look"),
    [
        (before_anything, "120x40-dark"),
        (researching, "120x40-light"),
        (failed, "80x24-dark"),
        (answered, "120x40-dark"),
        (asking_what_becomes_of_the_answer, "80x24-dark"),
        (thinking, "80x24-dark"),
    ],
    indirect=["look"],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_asking(scene: Scene, library: Path, picture: Picture) -> None:
    picture(scene)
