"""``deepthink train-policy`` as a person sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.serving.folder import Gate
from policy.serving.registry import Registry
from policy.training.course import TrainingRequest
from policy.training.progress import (
    Began,
    DataSheet,
    Finished,
    HeldOut,
    Trained,
    TrainingEvent,
    TrainingFailed,
    Warned,
)
from tests.policy.training.made import collected
from tests.tui.conftest import Run
from tests.tui.policy.trained import Trainer
from tui.failures import EXIT_CODES

EVENTS: list[TrainingEvent] = [
    Began("data", "Reading what there is to learn from."),
    Warned("3 runs are left out."),
    DataSheet({"questions, toy": "80 to learn from, 20 held out"}),
    Began("train", "Training: value."),
    HeldOut(0, 0.4, 0.41, 2.5),
    *(Trained(step, 40, 1.0 / step, 40.0 - step) for step in range(1, 41)),
    HeldOut(40, 0.45, 0.41, 2.1),
    Gate(
        passed=True,
        reason="Utility over the default schedule +0.040 [+0.010, +0.070] on 200 held-out questions.",
        rule="It gains.",
    ),
    Finished("value-20261121-203000", Path("policies/value-20261121-203000"), True),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[TrainingRequest]:
    """Requests that were made; each is answered with `EVENTS`."""
    return Trainer(EVENTS).take_place(monkeypatch).requests


def test_it_shows_what_is_learned_from_how_it_goes_and_what_the_gate_says(
    asked: list[TrainingRequest], deepthink: Run
) -> None:
    ran = deepthink("train-policy")

    assert ran.code == 0
    assert asked == [TrainingRequest()]
    lines = [" ".join(line.split()) for line in ran.out.splitlines() if line.strip()]
    assert lines == [
        "Reading what there is to learn from.",
        "learned from",
        lines[2],  # a rule
        "questions, toy 80 to learn from, 20 held out",
        "Training: value.",
        "held-out questions after step 0: value 0.400 with 2.50 steps, default schedule 0.410",
        "Training: value. 1 of 40 loss 1.000, about 39 s left",
        "held-out questions after step 40: value 0.450 with 2.10 steps, default schedule 0.410",
        "The gate: passed. Utility over the default schedule +0.040 [+0.010, +0.070] on 200 held-out "
        "questions.",
        "value-20261121-203000 is in policies/value-20261121-203000",
        "It is active now; `deepthink policy rollback` goes back to the previous one.",
    ]
    assert "3 runs are left out." in ran.err


def test_every_option_arrives(asked: list[TrainingRequest], deepthink: Run, tmp_path: Path) -> None:
    one, other = str(tmp_path / "one.duckdb"), str(tmp_path / "other.parquet")
    deepthink(
        *("train-policy", "--method", "reward", "--from", one, "--from", other, "--base", "some-base"),
        *("--cost", "0.1", "--name", "mine", "--epochs", "2", "--steps", "7", "--seed", "3", "--force"),
    )

    assert asked == [
        TrainingRequest(
            "reward", (Path(one), Path(other)), "some-base", 0.1, "mine", 3, 2.0, 7, activation="force"
        )
    ]
    assert asked[0].command == (
        "deepthink train-policy --method reward --from one.duckdb --from other.parquet --base some-base "
        "--cost 0.1 --name mine --seed 3 --epochs 2 --steps 7"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--name", "Not A Name"), "small letters"),
        (("--name", "box"), "not box"),
        (("--force", "--no-activate"), "contradict"),
        (("--method", "magic"), "magic"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: tuple[str, ...], told: str, asked: list[TrainingRequest], deepthink: Run
) -> None:
    ran = deepthink("train-policy", *arguments)

    assert ran.code == 2
    assert told in ran.err
    assert not asked


def test_too_few_decisions_are_told_with_the_way_to_more(deepthink: Run, tmp_path: Path) -> None:
    ran = deepthink("train-policy", "--from", str(collected(tmp_path / "few.duckdb", 5)))

    assert ran.code == 4
    assert "of 5 questions to learn from" in ran.err
    assert "deepthink collect" in ran.err
    assert Registry().active().name == "box"


def test_a_training_that_breaks_off_leaves_the_active_policy_alone(
    deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = TrainingFailed("The loss is no number any more at step 3 of 40.", "Nothing was changed.")
    Trainer(EVENTS[:1], error=failure).take_place(monkeypatch)

    ran = deepthink("train-policy")

    assert ran.code == 70
    assert "no number any more" in ran.err
    assert Registry().active().name == "box"


def test_a_planner_needs_corrected_plans_and_can_be_dropped(deepthink: Run, library: Path) -> None:
    few = deepthink("train-planner")
    assert few.code == EXIT_CODES["input"]
    assert "0 plans" in few.err
    assert "no planner of your own" in deepthink("train-planner", "--drop").out
