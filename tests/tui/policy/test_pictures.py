"""How the screen of the policy looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import Look, MakeApp, Snap, looks
from tests.tui.policy.test_screen import opened, some
from tests.tui.policy.trained import FAILED, PASSED, Trainer, judged, learning
from tests.tui.waiting import until
from tui.policy.actions import Deciding, Policies, PolicyRow
from tui.policy.screen import PolicyScreen
from tui.policy.training_choice import Source
from tui.policy.training_panel import TrainingPanel

SECTIONS = (
    (
        "Made from",
        (
            ("policy", "forest-20261101-090000"),
            ("by", "deepthink train-policy --method forest --from musique_train.duckdb"),
            ("questions", "6,993 (2wiki 2,000, hotpotqa 1,993, musique 3,000)"),
            ("reads", "states of version 3, 41 numbers of each"),
        ),
    ),
    (
        "Measured on held-out questions",
        (
            ("quality", "0.521"),
            ("steps saved against schedules at equal quality", "+0.281 [+0.204, +0.352]"),
        ),
    ),
)
BOX = PolicyRow(
    "box",
    "forest",
    (0.0232, 0.0121, 0.0341),
    "passed",
    "Utility over the default schedule +0.023 [+0.012, +0.034] on 1421 held-out questions.",
    boxed=True,
    active=True,
    sections=SECTIONS,
)
OTHERS = (
    PolicyRow(
        "value-20261121-203000",
        "value",
        (0.0312, 0.0181, 0.0442),
        "passed",
        PASSED.reason,
        boxed=False,
        active=False,
        sections=SECTIONS,
    ),
    PolicyRow(
        "reward-20261120-101500",
        "reward",
        (0.0041, -0.0092, 0.0171),
        "not passed",
        FAILED.reason,
        boxed=False,
        active=False,
        sections=SECTIONS,
    ),
    PolicyRow(
        "forest-20261119-080000",
        "",
        (),
        "unusable",
        "The policy forest-20261119-080000 was tampered with: forest.safetensors has changed.",
        boxed=False,
        active=False,
    ),
)
STORES = (
    Source(Path("hotpotqa_train.duckdb"), 31_000_000),
    Source(Path("musique_train.duckdb"), 18_400_000),
)


@pytest.fixture(autouse=True)
def _told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is always the same."""
    monkeypatch.setattr("policy.decisions.gathered.gathered", lambda _store: some())
    monkeypatch.setattr("tui.policy.actions.collected_stores", lambda: STORES)
    have(monkeypatch, BOX)


def have(patch: pytest.MonkeyPatch, *rows: PolicyRow) -> None:
    """There are these policies."""
    there = Policies(rows, "", (("2026-11-20 10:20", "chosen box"),))
    patch.setattr("tui.policy.actions.read_policies", lambda _registry: there)
    deciding = Deciding("learned" if rows else "rules", "lean", "")
    patch.setattr("tui.policy.actions._read_deciding", lambda _engine: deciding)


async def train(pilot: Pilot[Any], *, ends: bool = True) -> PolicyScreen:
    """Begin a training, and wait until it has come as far as it comes."""
    screen = await opened(pilot)
    await pilot.press("t")
    await until(pilot, lambda: screen.focused)
    await pilot.press("t")
    panel = screen.query_one(TrainingPanel)
    await until(pilot, lambda: panel.job is not None and (not panel.running if ends else panel.fold.step))
    pilot.app.clear_notifications()
    await pilot.pause()
    await pilot.pause()
    return screen


@looks("80x24-no-color", "120x40-dark")
def test_policies(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(monkeypatch, BOX, *OTHERS)

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("down", "down")
        await pilot.pause()

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@looks("80x24-dark")
def test_training(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trainer(learning(until=480), holds=True).take_place(monkeypatch)

    async def before(pilot: Pilot[Any]) -> None:
        await train(pilot, ends=False)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@looks("120x40-light")
def test_a_verdict(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trainer([*learning(), *judged(PASSED)]).take_place(monkeypatch)

    async def before(pilot: Pilot[Any]) -> None:
        await train(pilot)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)
