"""Training on the screen Learn, by a stand-in: begun, watched, stopped, judged, failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static, TabbedContent

from agent.decisions.decider import STATE_VERSION
from policy.serving.registry import Registry
from policy.training.progress import CannotTrain
from tests.policy.made import policy
from tests.tui.policy.test_screen import opened, some
from tests.tui.policy.trained import FAILED, PASSED, Trainer, judged, learning
from tests.tui.seen import text_of
from tests.tui.waiting import comes, until
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.learn.screen import LearnScreen
from tui.policy.actions import enough
from tui.policy.training_panel import MethodList, SourceList, TrainingChoice, TrainingPanel


def collect(home: Path, *names: str) -> list[Path]:
    folder = home / "data" / "collected"
    folder.mkdir(parents=True)
    paths = [folder / f"{name}.duckdb" for name in names]
    for path in paths:
        path.write_bytes(b"0" * 2_000_000)
    return paths


async def choosing(pilot: Pilot[Any]) -> LearnScreen:
    """The screen, where one chooses what to train."""
    screen = await opened(pilot)
    await pilot.press("t")
    await until(pilot, lambda: isinstance(screen.focused, MethodList))
    return screen


async def begun(pilot: Pilot[Any], *keys: str) -> tuple[LearnScreen, TrainingPanel]:
    """The screen, with a training that tells something, or has ended; the ``keys`` choose it."""
    screen = await choosing(pilot)
    await pilot.press(*keys, "t")
    panel = screen.query_one(TrainingPanel)
    await until(pilot, lambda: panel.job is not None and (panel.fold.trained or not panel.running))
    return screen, panel


def tab(screen: LearnScreen) -> str:
    return str(screen.query_one(TabbedContent).get_tab("training").label)


async def test_method_and_source_are_chosen_by_key(
    home: Path, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    hotpot, musique = collect(home, "hotpotqa", "musique")
    trainer = Trainer(judged(FAILED)).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await choosing(pilot)
        choice, panel = screen.query_one(TrainingChoice), screen.query_one(TrainingPanel)
        assert choice.request.method == "forest", "which a user can train first"
        assert "To begin with" in text_of(screen, "#means")
        await pilot.press("down")
        await until(pilot, lambda: choice.request.method == "reward")
        await pilot.press("up")
        await until(pilot, lambda: choice.request.method == "forest")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(screen.focused, SourceList))
        assert choice.request.sources == ()
        assert screen.query_one("#until").display, "how many decisions of one's own are missing"
        few = replace(some(), runs=4, all_runs=9, sources={"rules": 12}, versions={STATE_VERSION: 12})
        choice.show([hotpot, musique], few, 0)
        assert "Forest: 12 of about 20 decisions. 8 more are needed" in text_of(screen, "#until")
        assert "about 6 runs like those so far" in text_of(screen, "#until"), "most had no decision"
        assert "12 of at least 20" in enough(few), "the header counts to the same number"
        await pilot.press("down")
        await until(pilot, lambda: choice.request.sources == (hotpot,))
        assert "t trains forest on hotpotqa" in text_of(screen, "#means")
        assert not screen.query_one("#until").display
        await pilot.press("down")
        await until(pilot, lambda: choice.request.sources == (musique,))
        await pilot.press("enter")
        await until(pilot, lambda: panel.job is not None and not panel.running)
    (request,) = trainer.requests
    assert (request.method, request.sources, request.activation) == ("forest", (musique,), "gate")


async def test_a_training_is_watched_from_anywhere(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(learning(until=480), judged(PASSED), holds=True).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        screen, panel = await begun(pilot, "down")
        assert screen.focused is panel
        assert not screen.query_one(TrainingChoice).display
        assert tab(screen) == "Training ▸ 40%", "what the panel shows is in a picture"
        await pilot.press("t")
        assert len(trainer.requests) == 1, "one at a time"
        await pilot.press("left")
        await until(pilot, lambda: screen.query_one(TabbedContent).active == "policies")
        await pilot.press("t")
        await until(pilot, lambda: screen.query_one(TabbedContent).active == "training")
        assert panel.running
        await pilot.press("f2")
        await until(pilot, lambda: len(app.screen_stack) > 1)  # the first steps; they clear earlier toasts
        trainer.go_on()
        await until(pilot, lambda: not panel.running)
        assert any("The gate passed value-20261121" in n.message for n in app._notifications)
        await pilot.press("f5")
        await until(pilot, lambda: app.screen is screen)
        assert tab(screen) == "Training ✓"
    assert not trainer.cancelled.is_set()


async def test_what_passed_is_active_and_what_did_not_is_kept(
    home: Path, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy(home / "data" / "policies", "value-20261121-203000")
    Registry().use("value-20261121-203000", how="train")
    Trainer([*learning(until=5), *judged(PASSED)]).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        screen, _ = await begun(pilot, "down")
        await until(pilot, lambda: "The gate" in text_of(screen, "TrainingPanel Static"))
        came = text_of(screen, "TrainingPanel Static")
        assert "It decides from the next question on; b goes back" in came
        await pilot.press("left")
        card = screen.query_one("#card Static", Static)
        await until(pilot, lambda: "trained value-20261121" in str(card.content))
        await pilot.press("right")
        Trainer([*learning(until=5), *judged(FAILED)]).take_place(monkeypatch)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(screen.focused, MethodList))
        assert tab(screen) == "Training"
        await pilot.press("t")
        await until(pilot, lambda: "✗ The gate did not pass it." in text_of(screen, "TrainingPanel Static"))
        came = text_of(screen, "TrainingPanel Static")
        assert "is not active" in came
        assert "among the policies (←), ⏎ uses it all the same" in came
        assert tab(screen) == "Training ✗"
        assert any("did not pass" in n.message for n in app._notifications)


@pytest.mark.parametrize(
    ("keys", "kept", "not_so"),
    [
        ([], "from the beginning", "continues from there"),
        (["down"], "continues from there", "from the beginning"),
    ],
    ids=["forest", "encoder"],
)
async def test_a_training_is_stopped_after_a_yes_and_begun_again_by_the_same_request(
    keys: list[str], kept: str, not_so: str, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(learning(until=480), holds=True).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        screen, panel = await begun(pilot, *keys)
        await pilot.press("escape")
        await comes(pilot, ConfirmScreen)
        detail = " ".join(str(part.content) for part in app.screen.query(Static))
        assert (kept in detail, not_so in detail) == (True, False)
        await pilot.press("n")
        await until(pilot, lambda: app.screen is screen)
        assert panel.running
        assert not panel.stopping
        await pilot.press("x")
        await comes(pilot, ConfirmScreen)
        await pilot.press("y")
        await until(pilot, lambda: not panel.running)
        assert trainer.cancelled.is_set()
        came = text_of(screen, "TrainingPanel Static").replace("\n", " ")
        assert "■ Stopped after step 480 of 1200." in came
        assert (kept in came, not_so in came) == (True, False)
        assert "The active policy has not changed." in came
        assert app.failures == [], "what one did oneself is no failure"
        assert tab(screen) == "Training ■"
        assert "■ training" in came
        again = Trainer([*learning(until=5), *judged(FAILED)]).take_place(monkeypatch)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(screen.focused, MethodList))
        await pilot.press("t")
        await until(pilot, lambda: again.requests)
        await until(pilot, lambda: not panel.running)
    assert again.requests == trainer.requests


async def test_leaving_the_app_stops_it_well(app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(learning(until=5), holds=True).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, "down")
    assert trainer.cancelled.is_set()


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (
            CannotTrain(
                "There are 3 decisions; 197 more are needed.", "Get them with “deepthink collect”."
            ),
            ("✗ Not enough to learn from yet", "197 more are needed", "deepthink collect"),
        ),
        (ValueError("a fault"), ("✗ This should not have happened", "ValueError: a fault")),
    ],
    ids=["few", "fault"],
)
async def test_what_goes_wrong_is_told_and_the_active_policy_stays(
    error: Exception, parts: tuple[str, ...], app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trainer(learning(until=7), error=error).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        screen, panel = await begun(pilot, "down")
        await until(pilot, lambda: app.failures)
        came = text_of(screen, "TrainingPanel Static")
        for part in (*parts, "The active policy has not changed."):
            assert part in came, part
        assert "✗ training" in text_of(screen, "TrainingPanel Static")
        assert len(app._notifications) == 1, "a toast"
        assert not panel.running
        await pilot.press("t")
        await until(pilot, lambda: isinstance(screen.focused, MethodList))
