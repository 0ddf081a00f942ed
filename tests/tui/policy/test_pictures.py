"""How the screen of the policy looks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from policy.serving.folder import Data, Gate
from policy.serving.registry import Listed
from tests.policy.made import manifest
from tests.tui.conftest import Picture, looks
from tests.tui.policy.test_screen import opened, some
from tests.tui.policy.test_training import begun
from tests.tui.policy.trained import FAILED, PASSED, Trainer, judged, learning
from tests.tui.waiting import until
from tui.policy.actions import Overview

pytestmark = pytest.mark.usefixtures("utc")


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
STORES = [Path("hotpotqa_train.duckdb"), Path("musique_train.duckdb")]


@pytest.fixture(autouse=True)
def _told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is always the same."""
    have(monkeypatch, BOX)


def have(patch: pytest.MonkeyPatch, *rows: Listed) -> None:
    decider, changes = "learned" if rows else "rules", [("2026-11-20 10:20", "chosen boxed-forest")]
    state = Overview(decider, "lean", "", rows, "", changes, some(), STORES, 0)
    patch.setattr("tui.policy.actions.read_state", lambda _engine: state)


async def train(pilot: Pilot[Any], *, ends: bool = True) -> None:
    """Begin a training, and wait until it has come as far as it comes."""
    _, panel = await begun(pilot, "down")
    await until(pilot, lambda: not (ends and panel.running))
    pilot.app.clear_notifications()
    await pilot.pause()
    await pilot.pause()


@looks("80x24-no-color", "120x40-dark")
def test_policies(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, BOX, *OTHERS)

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("down", "down")
        await pilot.pause()

    picture(before)


@looks("80x24-dark")
def test_training(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    Trainer(learning(until=480), holds=True).take_place(monkeypatch)
    picture(partial(train, ends=False))


@looks("120x40-light")
def test_a_verdict(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    Trainer([*learning(), *judged(PASSED)]).take_place(monkeypatch)
    picture(train)
