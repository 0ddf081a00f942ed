"""The policies on their screen: told in full, promoted, forced, rolled back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from policy.serving.folder import GAIN, Gate
from policy.serving.registry import Registry
from tests.policy.made import policy
from tests.tui.conftest import MakeApp
from tests.tui.policy.test_screen import opened, text
from tests.tui.waiting import until
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.policy.screen import PolicyRows, PolicyScreen

SHIPPED, PASSED, FAILED, UNASKED = "forest-shipped", "value-c", "value-b", "value-a"


@pytest.fixture
def root(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One in the box, three trained here; the folder of these."""
    box, root = tmp_path / "box", home / "data" / "policies"
    monkeypatch.setattr("policy.serving.registry._SHIPPED", box)
    policy(box, SHIPPED)
    passed = Gate(passed=True, reason="It gains.", rule="Gain.", measures={GAIN: [0.031, 0.018, 0.044]})
    policy(root, PASSED, method="reward", gate=passed)
    policy(root, FAILED, gate=Gate(passed=False, reason="It gains nothing.", rule="Gain."))
    policy(root, UNASKED, gate=None)
    return root


def card(screen: PolicyScreen) -> str:
    """What is told of the policy under the cursor."""
    return str(screen.query_one("#card Static", Static).content)


def rows(screen: PolicyScreen) -> list[str]:
    """The lines of the list."""
    listed = screen.query_one(PolicyRows)
    return [str(listed.get_option_at_index(at).prompt) for at in range(listed.option_count)]


async def on(pilot: Pilot[Any], name: str) -> PolicyScreen:
    """The screen, with the cursor on a policy."""
    screen = await opened(pilot)
    screen.query_one(PolicyRows).go_to(name)
    await until(pilot, lambda: (row := screen.row) and row.name == name)
    return screen


async def test_every_policy_is_listed_and_told_in_full(make_app: MakeApp, root: Path) -> None:
    (root / UNASKED / "README.md").write_text("other")
    async with make_app().run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert isinstance(screen.focused, PolicyRows)
        box, passed, failed, broken = rows(screen)
        assert box.startswith(f"▸ {SHIPPED}")
        assert box.split()[-4:] == ["✓", "passed", "●", "active"]
        assert passed.split()[:5] == ["value-c", "reward", "+0.031", "✓", "passed"]
        assert "✗ not passed" in failed
        assert "active" not in failed
        assert "✗ unusable" in broken
        told = card(screen)
        for part in (
            "built in",
            "It is better.",
            "500 (musique 500)",
            "Better than",
        ):
            assert part in told, part
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
        assert f"learned, default of the profile lean · the policy {PASSED}" in text(screen, "#deciding")
        assert "chosen value-c" in card(screen)
        await pilot.press("b")
        await until(pilot, lambda: "● active" in rows(screen)[0])
        assert Registry().active().name == "box"
        assert [change.how for change in Registry().history()] == ["rollback", "use"]
        await pilot.press("b")
        await until(pilot, lambda: app.failures)
        assert "No policy was active before box" in app.failures[0].error.message


async def test_one_that_did_not_pass_is_used_only_after_a_yes(root: Path, app: DeepthinkApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await on(pilot, FAILED)
        for answer, active in (("n", "box"), ("escape", "box"), ("y", FAILED)):
            await pilot.press("p")
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            assert "It gains nothing." in str(app.screen.query_one("#detail", Static).content)
            await pilot.press(answer)
            await until(pilot, lambda: app.screen is screen)
            if answer == "y":
                await until(pilot, lambda: any("● active" in row and FAILED in row for row in rows(screen)))
            assert Registry().active().name == active
        assert Registry().history()[0].forced
        assert "although the gate did not pass it" in card(screen)
        assert any("although the gate did not pass it" in n.message for n in app._notifications)
