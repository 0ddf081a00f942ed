"""The gate: its rule is stated before, every condition can break it, and the words say which did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.state import Action
from policy.decisions.trees import Node, Seen, Tree
from policy.judging.bootstrap import NOTHING, Interval
from policy.judging.calibration import IDENTITY, Calibrated, Margin, calibration
from policy.judging.freezing import Frozen
from policy.judging.gate import STATED, Measured, ask, judge, measure, opponent, recorded
from policy.judging.walking import Outcomes, follow_each, score
from policy.serving import folder as folders
from policy.serving.folder import read
from policy.serving.registry import Registry
from policy.serving.scorers import Rule
from tests.policy import made
from tests.policy.made import Preferring, policy

GOOD = Measured(
    questions=300,
    known=290,
    gain=Interval(0.031, 0.012, 0.049, 290),
    over_active=Interval(0.002, -0.004, 0.009, 290),
    active="box-1",
    error=0.04,
    milliseconds=31.0,
)
NAME = "forest-20261121-203000"
ALL: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


@pytest.fixture(autouse=True)
def method_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies are loaded by the stand-in."""
    monkeypatch.setattr(folders, "read_scorer", made.load)


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
            {"questions": 99, "known": 99},
            "The outcome of 99 held-out questions is known, and 100 are needed.",
        ),
        ({"questions": 400}, "What it does was tried in only 290 of 400 held-out questions"),
        (
            {"gain": Interval(0.01, 0.0, 0.02)},
            r"over the default schedule, +0.010 [+0.000, +0.020], is not",
        ),
        ({"gain": NOTHING}, "over the default schedule"),
        (
            {"gain": Interval(0.003, 0.001, 0.005)},
            "over the default schedule, +0.003 [+0.001, +0.005], would be gone with 1 more question",
        ),
        ({"over_active": Interval(0.0, -0.01, 0.01)}, "over the active policy box-1"),
        ({"over_active": NOTHING}, "over the active policy box-1"),
        ({"error": 0.11}, "Its calibration error is 0.110, and 0.1 is the most."),
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


def test_everything_that_is_broken_is_named() -> None:
    verdict = judge(Measured(10, 5, NOTHING, None, "", math.nan, 1000.0))
    assert verdict.reason.count(";") >= 4
    assert "active policy" not in verdict.reason, "there is none to fall behind"


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


def test_a_manifest_keeps_the_rule_that_was_applied() -> None:
    kept = recorded(judge(GOOD))
    assert (kept.passed, kept.rule) == (True, STATED)
    assert kept.measures["milliseconds a decision"] == 31.0
    for figure in ("100 held-out", "90%", "above 0", "-0.01", "at most 0.1", "60 ms"):
        assert figure in STATED


# --- measured on trees -----------------------------------------------------------------------------------


def _tree(number: int, qualities: Mapping[str, float]) -> Tree:
    """A plan of two steps: finishing after the first is worth ``""``, after the second ``"C"``."""
    valid: dict[str, tuple[Action, ...]] = {"": ("CONTINUE", "FINISH"), "C": ("FINISH",)}
    nodes = {path: Node(path, Seen(path, {}, valid[path]), quality) for path, quality in qualities.items()}
    return Tree(f"q{number}", "toy", nodes)


def _walked(trees: list[Tree], scorer: Preferring, rule: Rule) -> Outcomes:
    return follow_each("new", trees, score(trees, scorer).deciders(rule))


def _frozen(trees: list[Tree], scorer: Preferring, rule: Rule) -> Frozen:
    margin = Margin(rule.margin, 0.0, 0.0, 0.0)
    said = calibration(np.array([0.2, 0.9]), np.array([0.0, 1.0]))
    calibrated = Calibrated(scorer, IDENTITY)
    walked = _walked(trees, scorer, rule)
    return Frozen(calibrated, rule, margin, walked, walked, said, 1.0)


def test_finishing_early_gains_the_step_it_saves() -> None:
    trees = [_tree(i, {"": 1.0, "C": 1.0}) for i in range(120)]
    early, rule = Preferring("FINISH", 0.2), Rule(0.05, 0.1)
    found = measure(_walked(trees, early, rule), trees, early, 0.02, 0.05)
    assert (found.questions, found.known, found.over_active) == (120, 120, None)
    assert found.gain.estimate == pytest.approx(0.05)
    assert found.gain.low == pytest.approx(0.05)
    assert found.milliseconds >= 0
    assert judge(replace(found, milliseconds=1.0)).passed


def test_finishing_early_where_something_was_left_to_find_loses() -> None:
    trees = [_tree(i, {"": 0.2, "C": 1.0}) for i in range(120)]
    early, rule = Preferring("FINISH", 0.2), Rule(0.05, 0.1)
    found = measure(_walked(trees, early, rule), trees, early, 0.02, 0.05)
    assert found.gain.estimate == pytest.approx(-0.75)
    assert not judge(found).passed


def test_questions_that_nobody_tried_count_against_it() -> None:
    trees = [_tree(i, {"": 1.0} if i % 2 else {"": 1.0, "C": 1.0}) for i in range(240)]
    late, rule = Preferring("CONTINUE", 0.2), Rule(0.05, 0.1)
    found = measure(_walked(trees, late, rule), trees, late, 0.02, 0.05)
    assert (found.questions, found.known) == (240, 120)
    assert "only 120 of 240" in judge(found).reason


def test_the_active_policy_is_walked_over_the_same_questions(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "own", tmp_path / "box")
    assert opponent(registry) is None
    policy(tmp_path / "box", save=Preferring("FINISH", 0.2).save)
    active = opponent(registry)
    assert active is not None
    trees = [_tree(i, {"": 1.0, "C": 1.0}) for i in range(120)]
    late, rule = Preferring("CONTINUE", 0.2), Rule(0.05, 0.1)
    found = measure(_walked(trees, late, rule), trees, late, 0.02, 0.05, active)
    assert found.active == NAME
    assert found.over_active is not None
    assert found.over_active.estimate == pytest.approx(-0.05)
    verdict, kept = ask(_frozen(trees, late, rule), trees, 0.05, registry, "other data")
    assert f"over the active policy {NAME}" in verdict.reason
    assert kept.reason == verdict.reason


def test_the_same_policy_trained_again_does_not_lose_against_itself(tmp_path: Path) -> None:
    early, rule = Preferring("FINISH", 0.2), Rule(0.05, 0.1)
    registry = Registry(tmp_path / "own", tmp_path / "box")
    policy(tmp_path / "box", save=early.save)
    active = opponent(registry)
    assert active is not None
    trees = [_tree(i, {"": 1.0, "C": 1.0}) for i in range(120)]
    # Crossed, a margin that others chose keeps it from finishing early.
    again = replace(_frozen(trees, early, rule), crossed=_walked(trees, early, Rule(0.5, 0.1)))

    same, _ = ask(again, trees, 0.05, registry, active.data)
    other, _ = ask(again, trees, 0.05, registry, "other data")
    assert same.measures[f"utility over the active policy {NAME}"] == [0.0, 0.0, 0.0]
    assert other.measures[f"utility over the active policy {NAME}"] == [-0.05, -0.05, -0.05]


def test_an_active_policy_that_cannot_be_loaded_is_no_opponent(tmp_path: Path) -> None:
    folder = policy(tmp_path / "box")
    registry = Registry(tmp_path / "own", tmp_path / "box")
    (folder / "said.safetensors").write_bytes(b"")
    assert opponent(registry) is None


def test_the_verdict_goes_into_the_folder_and_comes_back(tmp_path: Path) -> None:
    kept = recorded(judge(replace(GOOD, error=0.2)))
    assert read(policy(tmp_path, gate=kept)).gate == kept
