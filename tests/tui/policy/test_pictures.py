"""How the screen of the policy looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from policy.serving.folder import GAIN, Data, Gate
from policy.serving.registry import Listed
from tests.policy.made import manifest
from tests.tui.conftest import Look, MakeApp, Snap, looks
from tests.tui.policy.test_screen import opened, some
from tui.policy.actions import PolicyState

pytestmark = pytest.mark.usefixtures("utc")
GAINS = {GAIN: [0.0312, 0.0181, 0.0442], "calibration error": 0.0312}
PASSED = Gate(passed=True, reason="It gains on 1007 held-out questions.", rule="It gains.", measures=GAINS)
FAILED = Gate(
    passed=False,
    reason="Its calibration error is 0.141, and 0.1 is the most.",
    rule="It gains.",
    measures={GAIN: [0.0041, -0.0092, 0.0171], "calibration error": 0.1411},
)


def listed(
    name: str,
    method: str,
    gate: Gate | None,
    *,
    boxed: bool = False,
    active: bool = False,
    problem: str = "",
) -> Listed:
    """A policy; one without a gate cannot be used."""
    held = manifest(
        name,
        method=method,
        gate=gate,
        data=Data(sha256="d" * 64, questions=6993, decisions=28_000, datasets={"musique": 3000}),
        features=["step"],
        metrics={"quality": 0.521, "steps saved": [0.281, 0.204, 0.352]},
    )
    return Listed(name, Path(name), boxed, active, held if gate else None, problem)


BOX = listed("boxed-forest", "forest", PASSED, boxed=True, active=True)
OTHERS = (
    listed("reward-20261121-203000", "reward", PASSED),
    listed("reward-20261120-101500", "reward", FAILED),
    listed(
        "forest-20261119-080000",
        "forest",
        None,
        problem="It was tampered with: forest.safetensors has changed.",
    ),
)


@looks("80x24-no-color", "120x40-dark")
def test_policies(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [("2026-11-20 10:20", "chosen boxed-forest")]
    state = PolicyState("learned", "lean", "", (BOX, *OTHERS), "", changes, some())
    monkeypatch.setattr("tui.policy.actions.read_state", lambda _engine: state)

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("down", "down")
        await pilot.pause()

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)
