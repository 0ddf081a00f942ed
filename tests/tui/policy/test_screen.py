"""The policies on the screen Learn: who decides, each policy, and their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from agent.decisions.decider import STATE_VERSION
from policy.serving.folder import GAIN, Gate
from policy.serving.registry import Registry
from tests.policy.made import policy
from tests.tui.seen import text_of
from tests.tui.waiting import comes, until
from traces.decisions import Counts
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.learn.screen import LearnScreen
from tui.policy.policies import PoliciesPane, PolicyRows
from tui.settings.settings import put

SHIPPED, PASSED, FAILED, UNASKED = "forest-shipped", "value-c", "value-b", "value-a"


def some() -> Counts:
    """A few decisions of a few runs."""
    return Counts(
        runs=402,
        all_runs=602,
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


async def opened(pilot: Pilot[Any]) -> LearnScreen:
    """The policies on the screen, once it has read what there is or has failed to."""
    await pilot.press("f5", "right")
    await until(pilot, lambda: isinstance(pilot.app.screen, LearnScreen))
    screen = pilot.app.screen
    assert isinstance(screen, LearnScreen)
    await until(pilot, lambda: "Counting" not in text_of(screen, "#purpose"))
    await until(pilot, lambda: isinstance(screen.focused, PolicyRows))
    return screen


async def says(pilot: Pilot[Any], screen: LearnScreen, part: str) -> None:
    await until(pilot, lambda: part in text_of(screen, "#deciding"))


async def test_who_decides_is_told(home: Path, app: DeepthinkApp) -> None:
    policy(home / "data" / "policies", "forest-a")
    Registry().use("forest-a")
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


@pytest.fixture
def root(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One in the box, three trained here; the folder of these."""
    box, root = tmp_path / "box", home / "data" / "policies"
    monkeypatch.setattr("policy.serving.registry._SHIPPED", box)
    policy(box, SHIPPED)
    passed = Gate(passed=True, reason="It gains.", rule="Gain.", measures={GAIN: [0.031, 0.018, 0.044]})
    failed = Gate(passed=False, reason="It gains nothing.", rule="Gain.", measures={GAIN: [0, -1, 1]})
    policy(root, PASSED, method="reward", gate=passed)
    policy(root, FAILED, gate=failed)
    policy(root, UNASKED, gate=None)
    return root


def card(screen: LearnScreen) -> str:
    return text_of(screen, "#card Static")


def rows(screen: LearnScreen) -> list[str]:
    listed = screen.query_one(PolicyRows)
    return [str(listed.get_option_at_index(at).prompt) for at in range(listed.option_count)]


async def on(pilot: Pilot[Any], name: str) -> LearnScreen:
    """The screen, with the cursor on a policy."""
    screen = await opened(pilot)
    listed = screen.query_one(PolicyRows)
    listed.highlighted = listed.get_option_index(name)
    await until(pilot, lambda: (row := screen.query_one(PoliciesPane).row) and row.name == name)
    return screen


async def test_every_policy_is_listed_and_told_in_full(root: Path, app: DeepthinkApp) -> None:
    (root / UNASKED / "README.md").write_text("other")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert isinstance(screen.focused, PolicyRows)
        box, passed, failed, broken = rows(screen)
        assert box.startswith(f"▸ {SHIPPED}")
        assert box.split()[-4:] == ["✓", "passed", "●", "active"]
        assert passed.split()[:5] == ["value-c", "reward", "+0.031", "✓", "passed"]
        assert "– not surely better" in failed
        assert "active" not in failed
        assert "✗ unusable" in broken
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: "tampered" in card(screen))
        assert rows(screen)[3].startswith("▸ "), "the row under the cursor has a sign"
        assert not rows(screen)[0].startswith("▸ ")
        await pilot.press("enter")
        assert Registry().active().name == "box", "what cannot be used is not used"


async def test_a_policy_that_passed_is_promoted_and_rolled_back(root: Path, app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await on(pilot, PASSED)
        assert not [
            b for _, b, on_, _ in screen.active_bindings.values() if b.id == "policy.rollback" and on_
        ]
        await pilot.press("enter")
        await until(pilot, lambda: "● active" in rows(screen)[1])
        assert (Registry().active().name, Registry().history()[0].forced) == (PASSED, False)
        assert f"learned, default of the profile lean · the policy {PASSED}" in text_of(screen, "#deciding")
        assert "chosen value-c" in card(screen)
        await pilot.press("b")
        await until(pilot, lambda: "● active" in rows(screen)[0])
        assert Registry().active().name == "box"
        assert [change.how for change in Registry().history()] == ["rollback", "use"]
        await pilot.press("b")
        await until(pilot, lambda: app.failures)
        assert "No policy was active before." in app.failures[0].error.message


async def test_one_that_did_not_pass_is_used_only_after_a_yes(root: Path, app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await on(pilot, FAILED)
        for answer, active in (("n", "box"), ("escape", "box"), ("y", FAILED)):
            await pilot.press("p")
            await comes(pilot, ConfirmScreen)
            assert "It gains nothing." in text_of(app.screen, "#detail")
            await pilot.press(answer)
            await until(pilot, lambda: app.screen is screen)
            if answer == "y":
                await until(pilot, lambda: any("● active" in row and FAILED in row for row in rows(screen)))
            assert Registry().active().name == active
        assert Registry().history()[0].forced
        assert "although the gate did not pass it" in card(screen)
        assert any("although the gate did not pass it" in n.message for n in app._notifications)
