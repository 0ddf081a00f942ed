"""The gate: its rule is stated before, every condition can break it, and the words say which did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.state import Action
from policy.decisions import Node, Seen, Tree
from policy.judging import (
    NOTHING,
    STATED,
    Frozen,
    Interval,
    Measured,
    Outcomes,
    follow,
    judge,
    measure,
    score,
)
from policy.serving.folder import read
from policy.serving.scorers import IDENTITY, Calibrated, Rule
from tests.policy.made import Preferring, policy

GOOD = Measured(
    questions=300,
    known=290,
    gain=Interval(0.031, 0.012, 0.049),
    over_active=Interval(0.002, -0.004, 0.009),
    active="box-1",
    error=0.04,
    milliseconds=31.0,
)
pytestmark = pytest.mark.usefixtures("stand_in")
NAME = "forest-20261121-203000"
RULE = Rule(0.05, 0.1)


def test_what_fulfils_everything_passes_and_says_by_how_much() -> None:
    verdict = judge(GOOD)
    assert verdict.passed
    assert verdict.reason == (
        "Utility over the default schedule +0.031 [+0.012, +0.049] on 290 held-out questions."
    )
    assert verdict.measures["utility over the default schedule"] == [0.031, 0.012, 0.049]
    assert verdict.measures["utility over the active policy box-1"] == [0.002, -0.004, 0.009]
    assert verdict.measures["calibration error"] == 0.04


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"questions": 39, "known": 39},
            "The outcome is known for 39 held-out questions, and at least 40 are needed.",
        ),
        ({"questions": 400}, "What it does was tried in only 290 of 400 held-out questions"),
        (
            {"gain": Interval(0.01, 0.0, 0.02)},
            r"over the default schedule, +0.010 [+0.000, +0.020], is not",
        ),
        ({"gain": NOTHING}, "over the default schedule"),
        (
            {"gain": Interval(0.003, 0.001, 0.005)},
            "over the default schedule, +0.003 [+0.001, +0.005], would be gone if 1 more question",
        ),
        ({"over_active": Interval(0.0, -0.01, 0.01)}, "over the active policy box-1"),
        ({"over_active": NOTHING}, "over the active policy box-1"),
        ({"error": 0.11}, "Its calibration error is 0.110, and may be at most 0.1."),
        ({"error": math.nan}, "Its calibration error is not known"),
        ({"milliseconds": 60.0}, "A decision takes 60 ms"),
        ({"milliseconds": math.nan}, "A decision takes nan ms"),
    ],
)
def test_each_condition_alone_breaks_it_and_is_named(changes: dict[str, Any], said: str) -> None:
    verdict = judge(replace(GOOD, **changes))
    assert not verdict.passed
    assert said in verdict.reason
    assert verdict.reason.endswith(".")


def test_without_a_sure_gain_none_is_said_to_be_gone() -> None:
    reason = judge(replace(GOOD, gain=Interval(-0.030, -0.106, 0.017))).reason
    assert (
        reason == "Its utility over the default schedule, -0.030 [-0.106, +0.017], is not surely above 0."
    )


def test_at_the_border_it_passes() -> None:
    border = replace(
        GOOD,
        questions=100,
        known=100,
        gain=Interval(0.1, 1e-9, 0.2),
        over_active=Interval(0.0, -0.0099, 0.0),
        error=0.10,
        milliseconds=59.9,
    )
    assert judge(border).passed
    assert judge(replace(border, over_active=None, active="")).passed


def test_the_verdict_has_the_rule_and_goes_into_the_folder_and_comes_back(tmp_path: Path) -> None:
    gate = judge(replace(GOOD, error=0.2))
    assert gate.rule == STATED
    for figure in ("40 held-out", "90%", "above 0", "-0.01", "at most 0.1", "60 ms"):
        assert figure in STATED
    assert read(policy(tmp_path, gate=gate)).gate == gate


# --- measured on trees -----------------------------------------------------------------------------------


def _tree(number: int, qualities: Mapping[str, float]) -> Tree:
    """A plan of two steps: finishing after the first is worth ``""``, after the second ``"C"``."""
    valid: dict[str, tuple[Action, ...]] = {"": ("CONTINUE", "FINISH"), "C": ("FINISH",)}
    nodes = {path: Node(path, Seen(path, {}, valid[path]), quality) for path, quality in qualities.items()}
    return Tree(f"q{number}", "toy", nodes)


def _walked(trees: list[Tree], scorer: Preferring, rule: Rule) -> Outcomes:
    return follow(trees, score(trees, scorer).decide(rule))


def _frozen(trees: list[Tree], scorer: Preferring) -> Frozen:
    walked = _walked(trees, scorer, RULE)
    return Frozen(Calibrated(scorer, IDENTITY), RULE, walked, walked, 0.02)


def test_finishing_early_gains_the_step_it_saves() -> None:
    trees = [_tree(i, {"": 1.0, "C": 1.0}) for i in range(120)]
    measured = measure(_frozen(trees, Preferring("FINISH", 0.2)), trees, 0.05, None, "data")
    assert (measured.questions, measured.known, measured.over_active) == (120, 120, None)
    assert measured.gain.estimate == pytest.approx(0.05)
    assert measured.gain.low == pytest.approx(0.05)
    assert measured.milliseconds >= 0
    assert judge(replace(measured, milliseconds=1.0)).passed


def test_questions_that_nobody_tried_count_against_it() -> None:
    trees = [_tree(i, {"": 1.0} if i % 2 else {"": 1.0, "C": 1.0}) for i in range(240)]
    measured = measure(_frozen(trees, Preferring("CONTINUE", 0.2)), trees, 0.05, None, "data")
    assert (measured.questions, measured.known) == (240, 120)
    assert "only 120 of 240" in judge(measured).reason


def test_the_active_policy_is_walked_over_the_same_questions(tmp_path: Path) -> None:
    active = policy(tmp_path, save=Preferring("FINISH", 0.2).save)
    trees = [_tree(i, {"": 1.0, "C": 1.0}) for i in range(120)]
    gate = judge(measure(_frozen(trees, Preferring("CONTINUE", 0.2)), trees, 0.05, active, "other data"))
    assert gate.measures[f"utility over the active policy {NAME}"] == [-0.05, -0.05, -0.05]
    assert f"over the active policy {NAME}" in gate.reason


def test_the_same_policy_trained_again_does_not_lose_against_itself(tmp_path: Path) -> None:
    early = Preferring("FINISH", 0.2)
    active = policy(tmp_path, save=early.save)
    trees = [_tree(i, {"": 1.0, "C": 1.0}) for i in range(120)]
    # Crossed, a margin that others chose keeps it from finishing early.
    again = replace(_frozen(trees, early), crossed=_walked(trees, early, Rule(0.5, 0.1)))
    for data, utility in ((read(active).data.sha256, 0.0), ("other data", -0.05)):
        over_active = measure(again, trees, 0.05, active, data).over_active
        assert over_active is not None
        assert over_active.estimate == pytest.approx(utility)
