"""The policies and the training on the screen Learn: who decides, each policy, their keys and pictures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static, TabbedContent

from agent.decisions.decider import STATE_VERSION
from policy.serving.folder import GAIN, Data, Gate
from policy.serving.registry import Listed, Registry
from policy.training.course import TrainingRequest
from policy.training.progress import CannotTrain
from tests.policy.made import manifest, policy
from tests.tui.conftest import Picture, looks
from tests.tui.policy.trained import FAILED, PASSED, Trainer, judged, learning
from tests.tui.seen import text_of
from tests.tui.waiting import comes, until
from traces.decisions import Counts
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.learn.screen import LearnScreen
from tui.policy.actions import Overview
from tui.policy.policies import PoliciesPane, PolicyRows
from tui.policy.training_panel import MethodList, SourceList, TrainingChoice, TrainingPanel
from tui.settings.settings import put

pytestmark = pytest.mark.usefixtures("bare")

SHIPPED, GOOD, POOR, UNASKED = "forest-shipped", "value-c", "value-b", "value-a"


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


@pytest.fixture
def root(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One in the box, three trained here; the folder of these."""
    box, root = tmp_path / "box", home / "data" / "policies"
    monkeypatch.setattr("policy.serving.registry._SHIPPED", box)
    policy(box, SHIPPED)
    passed = Gate(passed=True, reason="It gains.", rule="Gain.", measures={GAIN: [0.031, 0.018, 0.044]})
    failed = Gate(passed=False, reason="It gains nothing.", rule="Gain.", measures={GAIN: [0, -1, 1]})
    policy(root, GOOD, method="reward", gate=passed)
    policy(root, POOR, gate=failed)
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
        assert [row.split()[-1] for row in rows(screen)] == ["active", "passed", "better", "unusable"]
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: "tampered" in card(screen))
        await pilot.press("enter")
        assert Registry().active().name == "box", "what cannot be used is not used"


async def test_one_that_passed_is_promoted_and_rolled_back_and_another_only_after_a_yes(
    root: Path, app: DeepthinkApp
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await on(pilot, GOOD)
        assert not [
            b for _, b, on_, _ in screen.active_bindings.values() if b.id == "policy.rollback" and on_
        ]
        await pilot.press("enter")
        await until(pilot, lambda: "● active" in rows(screen)[1])
        assert (Registry().active().name, Registry().history()[0].forced) == (GOOD, False)
        assert f"learned, default of the profile lean · the policy {GOOD}" in text_of(screen, "#deciding")
        assert "chosen value-c" in card(screen)
        await pilot.press("b")
        await until(pilot, lambda: "● active" in rows(screen)[0])
        assert Registry().active().name == "box"
        assert [change.how for change in Registry().history()] == ["rollback", "use"]
        await pilot.press("b")
        await until(pilot, lambda: app.failures)
        assert "No policy was active before." in app.failures[0].error.message
        assert screen is await on(pilot, POOR)
        for answer, active in (("n", "box"), ("escape", "box"), ("y", POOR)):
            await pilot.press("p")
            await comes(pilot, ConfirmScreen)
            assert "It gains nothing." in text_of(app.screen, "#detail")
            await pilot.press(answer)
            await until(pilot, lambda: app.screen is screen)
            if answer == "y":
                await until(pilot, lambda: any("● active" in row and POOR in row for row in rows(screen)))
            assert Registry().active().name == active
        assert Registry().history()[0].forced
        assert "although the gate did not pass it" in card(screen)
        assert any("although the gate did not pass it" in n.message for n in app._notifications)


# --- training, by a stand-in: begun, watched, stopped, judged, failed


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


async def test_method_and_source_are_chosen_by_key(
    home: Path, app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    hotpot, musique = collect(home, "hotpotqa", "musique")
    trainer = Trainer(judged(FAILED)).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await choosing(pilot)
        choice, panel = screen.query_one(TrainingChoice), screen.query_one(TrainingPanel)
        assert choice.request.method == TrainingRequest().method == "forest", "which a user can train first"
        assert "To begin with" in text_of(screen, "#means")
        await pilot.press("down")
        await until(pilot, lambda: choice.request.method == "reward")
        await pilot.press("up")
        await until(pilot, lambda: choice.request.method == "forest")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(screen.focused, SourceList))
        assert choice.request.sources == ()
        await pilot.press("down")
        await until(pilot, lambda: choice.request.sources == (hotpot,))
        assert "t trains forest on hotpotqa" in text_of(screen, "#means")
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
        await pilot.press("t")
        assert len(trainer.requests) == 1, "one at a time"
        await pilot.press("left")
        await until(pilot, lambda: screen.query_one(TabbedContent).active == "policies")
        await pilot.press("t")
        await until(pilot, lambda: screen.query_one(TabbedContent).active == "training")
        assert panel.running
        await pilot.press("f2")
        await until(pilot, lambda: app.screen is not screen)
        trainer.go_on()
        await until(pilot, lambda: not panel.running)
        assert any("The gate passed value-20261121" in n.message for n in app._notifications)
        await pilot.press("f5")
        await until(pilot, lambda: app.screen is screen)
        assert "✓ The gate passed it." in text_of(screen, "TrainingPanel Static")
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
        await pilot.press("t")
        await until(pilot, lambda: "✗ The gate did not pass it." in text_of(screen, "TrainingPanel Static"))
        came = text_of(screen, "TrainingPanel Static")
        assert "is not active" in came
        assert "among the policies (←), ⏎ uses it all the same" in came
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


async def test_what_goes_wrong_is_told_and_the_active_policy_stays(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = CannotTrain("There are 3 decisions; 197 more are needed.", "Get them with “deepthink collect”.")
    Trainer(learning(until=7), error=few).take_place(monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        screen, panel = await begun(pilot, "down")
        for number, error, parts in (
            (1, few, ("✗ Not enough to learn from yet", "197 more are needed", "deepthink collect")),
            (2, ValueError("a fault"), ("✗ This should not have happened", "ValueError: a fault")),
        ):
            if number == 2:
                Trainer(learning(until=7), error=error).take_place(monkeypatch)
                await pilot.press("t")
                await until(pilot, lambda: isinstance(screen.focused, MethodList))
                await pilot.press("t")
            await until(pilot, lambda: len(app.failures) == number)  # noqa: B023
            came = text_of(screen, "TrainingPanel Static")
            for part in (*parts, "The active policy has not changed.", "✗ training"):
                assert part in came, part
            assert len(app._notifications) == number, "a toast"
            assert not panel.running


# --- pictures


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


@pytest.fixture
def told(utc: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is always the same, and the time of day everybody's."""
    have(monkeypatch, BOX)


def have(patch: pytest.MonkeyPatch, *rows: Listed) -> None:
    decider, changes = "learned" if rows else "rules", [("2026-11-20 10:20", "chosen boxed-forest")]
    state = Overview(decider, "lean", rows, "", changes, some(), STORES, 0)
    patch.setattr("tui.policy.actions.read_state", lambda _engine: state)


async def train(pilot: Pilot[Any], *, ends: bool = True) -> None:
    """Begin a training, and wait until it has come as far as it comes."""
    _, panel = await begun(pilot, "down")
    await until(pilot, lambda: not (ends and panel.running))
    pilot.app.clear_notifications()
    await pilot.pause()
    await pilot.pause()


@pytest.mark.usefixtures("told")
@looks("80x24-no-color", "120x40-dark")
def test_policies(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, BOX, *OTHERS)

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("down", "down")
        await pilot.pause()

    picture(before)


@pytest.mark.usefixtures("told")
@looks("80x24-dark")
def test_training(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    Trainer(learning(until=480), holds=True).take_place(monkeypatch)
    picture(partial(train, ends=False))


@pytest.mark.usefixtures("told")
@looks("120x40-light")
def test_a_verdict(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    Trainer([*learning(), *judged(PASSED)]).take_place(monkeypatch)
    picture(train)
