"""The screen of the policy: who decides, and how much there is to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from agent.decisions.decider import STATE_VERSION
from policy.serving.registry import Registry
from tests.policy.made import policy
from tests.tui.conftest import MakeApp
from tests.tui.waiting import until
from traces.decisions import Counts
from tui.app.app import DeepthinkApp
from tui.policy.screen import PolicyScreen
from tui.settings.settings import put


def some() -> Counts:
    """A few decisions of a few runs."""
    return Counts(
        runs=402,
        sources={"rules": 900, "llm": 290, "human": 14},
        actions={"CONTINUE": 700, "REVISE": 104, "FINISH": 400},
        versions={STATE_VERSION: 1204},
        origins={"override": 6, "teach": 14, "said": 31},
        ratings={"good": 40, "partly": 12, "wrong": 8},
        agreement={},
        shadows=0,
        qualities={},
        mean_quality=None,
        transitions={},
        datasets=[],
    )


async def opened(pilot: Pilot[Any]) -> PolicyScreen:
    """The screen, once it has read what there is or has failed to."""
    await pilot.press("f6")
    await until(pilot, lambda: isinstance(pilot.app.screen, PolicyScreen))
    screen = pilot.app.screen
    assert isinstance(screen, PolicyScreen)
    told = screen.query_one("#message", Static)
    await until(pilot, lambda: not told.display or "Counting" not in str(told.content))
    return screen


def text(screen: PolicyScreen, of: str) -> str:
    """What a section says."""
    return str(screen.query_one(of, Static).content)


async def test_without_a_policy_it_says_how_to_get_one(app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert "0 of 3,000 decisions" in text(screen, "#until")
        assert "There is no policy" in text(screen, "#card Static")


async def says(pilot: Pilot[Any], screen: PolicyScreen, part: str) -> None:
    """Wait until the lines on who decides say it."""
    await until(pilot, lambda: part in text(screen, "#deciding"))


async def test_who_decides_is_told(make_app: MakeApp, home: Path) -> None:
    policy(home / "data" / "policies", "forest-a")
    Registry().use("forest-a")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await says(pilot, screen, "learned, default of the profile lean · the policy forest-a")
        for name in ("rules", "llm"):
            put("decider", name)
            app.engine.reload()
            await pilot.press("u")
            await says(pilot, screen, f"{name}, as set")
        put("shadow", "learned")
        app.engine.reload()
        await pilot.press("u")
        await says(pilot, screen, "learned, recorded and not acted on")
