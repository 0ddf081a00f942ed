"""How the screen of the policy looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual_plotext import PlotextPlot

from policy.training.errors import CannotTrain
from policy.training.progress import TrainingEvent
from tests.tui.app.conftest import Look, MakeApp, Snap
from tests.tui.app.test_policy import opened, some, text
from tests.tui.app.trained import FAILED, PASSED, Trainer, judged, learning
from tests.tui.app.waiting import until
from tui.app.screens.policy import PolicyScreen
from tui.app.widgets.policy_data import Deciding
from tui.app.widgets.policy_rows import Policies, PolicyRow
from tui.app.widgets.training_choice import Source
from tui.app.widgets.training_panel import TrainingPanel

SECTIONS = (
    (
        "Made from",
        (
            ("policy", "forest-20261101-090000"),
            ("method", "a random forest on the numeric features"),
            ("made", "2026-11-01 09:00"),
            ("by", "deepthink train-policy --method forest --from musique_train.duckdb"),
            ("base model", "none"),
            ("questions", "6,993 (2wiki 2,000, hotpotqa 1,993, musique 3,000)"),
            ("decisions", "41,204 (evidence 41,204)"),
            ("margin", "0.03, temperature 0.1"),
            ("reads", "states of version 3, 41 numbers of each"),
        ),
    ),
    (
        "Measured on held-out questions",
        (
            ("quality", "0.521"),
            ("steps", "2.31"),
            ("steps saved against schedules at equal quality", "+0.281 [+0.204, +0.352]"),
            ("share of a clairvoyant's utility", "+0.471 [+0.380, +0.552]"),
        ),
    ),
)
BOX = PolicyRow(
    "box",
    "forest",
    "2026-11-01 09:00",
    6993,
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
        "2026-11-21 20:30",
        5000,
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
        "2026-11-20 10:15",
        5000,
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
        "",
        0,
        (),
        "unusable",
        "The policy forest-20261119-080000 was tampered with: forest.safetensors has changed.",
        boxed=False,
        active=False,
    ),
)
LITTLE = [Look((80, 24), "dark"), Look((120, 40), "light")]
"""Where the six looks differ in nothing that other pictures do not show."""

STORES = (
    Source(Path("hotpotqa_train.duckdb"), 31_000_000),
    Source(Path("musique_train.duckdb"), 18_400_000),
)


a_few = pytest.mark.parametrize("look", LITTLE, ids=lambda look: look.id, indirect=True)


@pytest.fixture(autouse=True)
def _told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is always the same."""
    monkeypatch.setattr("policy.gathered.gathered", lambda _store: some())
    monkeypatch.setattr("tui.app.widgets.policy_data.collected", lambda: STORES)
    have(monkeypatch, BOX)


def have(patch: pytest.MonkeyPatch, *rows: PolicyRow) -> None:
    """There are these policies."""
    there = Policies(rows, "", (("2026-11-20 10:20", "chosen box"),))
    patch.setattr("tui.app.widgets.policy_data.read_policies", lambda _registry: there)
    deciding = Deciding("learned" if rows else "rules", "lean", "", {})
    patch.setattr("tui.app.widgets.policy_data._deciding", lambda _engine: deciding)


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


@a_few
@pytest.mark.parametrize("rows", [(), (BOX,)], ids=["none", "box"])
def test_few_policies(
    rows: tuple[PolicyRow, ...],
    look: Look,
    make_app: MakeApp,
    snap_compare: Snap,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    have(monkeypatch, *rows)

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@pytest.mark.parametrize(
    "look",
    [Look((80, 24), "dark", False), Look((120, 40), "dark")],
    ids=lambda look: look.id,
    indirect=True,
)
def test_policies(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(monkeypatch, BOX, *OTHERS)

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("down", "down")
        await pilot.pause()

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@a_few
def test_a_choice(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await pilot.press("2")
        await until(pilot, lambda: screen.focused)
        await pilot.press("enter")
        await pilot.pause()

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


def test_training(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trainer(learning(until=480), holds=True).take_place(monkeypatch)

    async def before(pilot: Pilot[Any]) -> None:
        await train(pilot, ends=False)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@a_few
@pytest.mark.parametrize("events", [judged(PASSED), judged(FAILED)], ids=["passed", "failed"])
def test_a_verdict(
    events: list[TrainingEvent],
    look: Look,
    make_app: MakeApp,
    snap_compare: Snap,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Trainer([*learning(), *events]).take_place(monkeypatch)

    async def before(pilot: Pilot[Any]) -> None:
        await train(pilot)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@a_few
def test_too_few_decisions(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = CannotTrain(
        "There are 31 decisions of 12 questions to learn from; at least 28 questions and 169 decisions "
        "more are needed.",
        "Get them with “deepthink collect --questions FILE”, or rate the answers of "
        "your own runs: “deepthink runs”.",
    )
    Trainer(learning(until=0)[:1], error=few).take_place(monkeypatch)

    async def before(pilot: Pilot[Any]) -> None:
        await train(pilot)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@a_few
def test_what_was_gathered(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await pilot.press("3")
        await until(pilot, lambda: screen.query(PlotextPlot))
        await pilot.pause()

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=before)


@a_few
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
