"""Judging: walks and their bootstrap, calibration by cases worked by hand, what is frozen, and the gate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.state import Action
from policy.decisions import INDEX, Node, Seen, Tree
from policy.judging import (
    NOTHING,
    STATED,
    Frozen,
    Interval,
    Measured,
    Outcomes,
    calibration_error,
    choose_margin,
    crossed,
    default_schedule,
    fit_curve,
    fit_temperature,
    follow,
    freeze,
    judge,
    mean,
    means,
    measure,
    score,
    walk,
)
from policy.serving.folder import read
from policy.serving.scorers import IDENTITY, Calibrated, Curve, Rule, Scores, calibrated
from tests.policy.made import Preferring, policy
from tests.policy.trees import node, random_tree, random_trees, schedule, stop

ALL: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")


def hand() -> Tree:
    """Root 0.2; C brings it to 0.6, CC no further; R completes it at once."""
    nodes = [
        node("", ALL, 0.2),
        node("C", ("CONTINUE", "FINISH"), 0.6),
        node("CC", ("FINISH",), 0.6),
        node("R", ("FINISH",), 1.0),
    ]
    return Tree("q", "hand", {n.path: n for n in nodes})


@pytest.mark.parametrize(
    ("letters", "quality", "steps"), [("", 0.2, 1), ("C", 0.6, 2), ("CC", 0.6, 3), ("R", 1.0, 2)]
)
def test_a_walk_ends_where_the_policy_finishes(letters: str, quality: float, steps: int) -> None:
    end = walk(hand(), schedule(letters))
    assert end is not None
    assert (end.path, end.quality, end.steps) == (letters, quality, steps)


def test_an_invalid_action_is_refused() -> None:
    with pytest.raises(ValueError, match="REVISE is not valid at 'C'"):
        walk(hand(), lambda n: "CONTINUE" if not n.path else "REVISE")


def test_what_nobody_tried_or_measured_is_not_known() -> None:
    whole = hand()
    line = Tree("q", "", {path: whole.nodes[path] for path in ("", "C", "CC")})
    assert walk(line, schedule("C")) == whole.nodes["C"]
    assert walk(line, schedule("R")) is None
    bare = Tree("q", "", {"": node("", ("FINISH",), None)})
    outcomes = follow([line, bare, whole], schedule("R"))
    assert outcomes.unknown == 2
    np.testing.assert_array_equal(outcomes.steps, [np.nan, np.nan, 2.0])
    assert walk(whole, lambda _n: None) is None


def test_a_batch_decides_as_state_by_state() -> None:
    trees, rule, scorer = random_trees(3, 20), Rule(0.1, 1.0), Preferring("FINISH")

    def one(state: Node) -> Action:
        return rule.action(state.valid, scorer.score([state.seen]).advantages[0])

    batch = follow(trees, score(trees, scorer).decide(rule))
    assert batch == follow(trees, one)
    assert len({end.path for end in batch.ends if end}) > 1


@given(st.integers(0, 10_000), st.text("CR", max_size=5))
def test_a_walk_on_what_is_known_is_the_walk_on_all(seed: int, letters: str) -> None:
    whole = random_tree(np.random.default_rng(seed))
    end = walk(whole, schedule(letters))
    path = end.path if end else ""
    line = Tree("q", "", {path[:i]: whole.nodes[path[:i]] for i in range(len(path) + 1)})
    for k in range(len(path) + 1):
        assert walk(line, schedule(path[:k])) == walk(whole, schedule(path[:k]))


def test_the_width_is_that_of_theory() -> None:
    values = np.random.default_rng(2).normal(size=400)
    interval = mean(values)
    assert interval.low < interval.estimate < interval.high
    assert interval.estimate == pytest.approx(values.mean())
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(400), rel=0.08)


def test_each_column_is_averaged_over_what_is_known_of_it() -> None:
    known = means(
        {
            "both": np.array([1.0, np.nan, 3.0, 9.0]) - np.array([0.0, 5.0, 1.0, np.nan]),
            "all": np.array([1.0, 2.0, 3.0, 4.0]),
            "none": np.full(4, np.nan),
        }
    )
    assert (known["both"].estimate, known["all"].estimate) == (1.5, 2.5)
    assert known["none"] is NOTHING
    assert not NOTHING.low > 0
    assert means({}) == {}


COST = 0.05
BOTH: tuple[Action, ...] = ("CONTINUE", "FINISH")


@pytest.mark.parametrize("states", [200, 12_000])
def test_what_is_overconfident_is_put_right(states: int) -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(0.2, 0.8, states)
    so = (rng.random(states) < true).astype(float)
    odds = 3 * np.log(true / (1 - true))
    raw = 1 / (1 + np.exp(-odds))  # three times as sure as it may be
    half = states // 2
    curve = fit_curve(raw[:half], so[:half])
    assert np.all(np.diff(curve.y) >= 0)
    assert calibration_error(curve(raw[half:]), so[half:]) < calibration_error(raw[half:], so[half:])
    assert np.abs(curve(raw) - true).mean() < 0.1


def test_nothing_known_or_nothing_to_tell_apart_leaves_it_as_it_is() -> None:
    assert fit_curve(np.array([]), np.array([])) is IDENTITY
    assert fit_curve(np.array([0.1, 0.9]), np.array([1.0, 1.0])) is IDENTITY
    assert fit_curve(np.array([0.1, 0.9]), np.array([np.nan, np.nan])) is IDENTITY


def test_the_curve_travels_with_the_policy(tmp_path: Path) -> None:
    inner = Preferring(sufficient=0.5)
    state = Seen("", {}, BOTH)
    wrapped = Calibrated(inner, Curve(np.array([0.0, 1.0]), np.array([0.2, 0.4])))
    wrapped.save(tmp_path)
    assert calibrated(inner, tmp_path).score([state]).sufficiency.tolist() == pytest.approx([0.3])
    assert calibrated(inner, tmp_path / "elsewhere") is inner


def tree(name: str, now: float = 1.0, later: float | None = 1.0) -> Tree:
    """Finishing now is worth ``now``, after one more step ``later``."""
    root = Node("", Seen(name, {}, BOTH), now)
    return Tree(name, "toy", {"": root, "C": Node("C", Seen(name, {}, ("FINISH",)), later)})


class Saying:
    """Says the advantage of FINISH that is written down for each text."""

    def __init__(self, advantages: dict[str, float]) -> None:
        self.advantages = advantages

    def score(self, states: Sequence[Seen]) -> Scores:
        rows = np.full((len(states), 3), -np.inf)
        for at, state in enumerate(states):
            if "CONTINUE" in state.valid:
                rows[at, INDEX["CONTINUE"]] = 0.0
                rows[at, INDEX["FINISH"]] = self.advantages[state.text]
            else:
                rows[at, INDEX["FINISH"]] = 0.0
        return Scores(rows, np.full(len(states), 0.5))


def margin_for(
    advantages: dict[str, float], trees: list[Tree], cost: float, errors: float = 0.5
) -> tuple[float, float]:
    """The margin, and the mean utility of the policy that has it."""
    scored = score(trees, Saying(advantages))
    margin = choose_margin(scored, trees, cost, errors)
    return margin, float(np.nanmean(follow(trees, scored.decide(Rule(margin, 1.0))).utility(cost)))


def test_the_margin_separates_what_pays_from_what_does_not() -> None:
    # Finishing at once pays where all is there (saves 0.1) and costs 0.5 where it is not.
    good = [tree(f"good {i}") for i in range(20)]
    bad = [tree(f"bad {i}", 0.4) for i in range(20)]
    advantages = {t.question: 0.3 if t.question.startswith("good") else 0.1 for t in [*good, *bad]}
    margin, utility = margin_for(advantages, [*good, *bad], cost=0.1)
    assert 0.1 <= margin < 0.3
    assert utility == pytest.approx(0.85)  # by default, two steps and all of it: 0.8


def test_where_leaving_the_default_never_pays_it_is_never_left() -> None:
    trees = [tree(f"q{i}", 0.0) for i in range(10)]
    margin, utility = margin_for({t.question: 0.2 for t in trees}, trees, cost=0.05)
    assert margin > 0.2
    assert utility == pytest.approx(0.9)


def test_what_chance_could_have_brought_does_not_lower_the_margin() -> None:
    # One question of forty gains 0.1 by a deviation that is as often a loss: within half an error.
    trees = [tree(f"q{i}", 1.0 if i % 2 else 0.86) for i in range(40)]
    advantages = {f"q{i}": 0.2 for i in range(40)}
    timid, _ = margin_for(advantages, trees, cost=0.08, errors=3.0)
    bold, _ = margin_for(advantages, trees, cost=0.08, errors=0.0)
    assert bold < 0.2 < timid


def test_the_temperature_is_high_where_the_policy_is_often_wrong() -> None:
    states = [Seen("", {}, BOTH)] * 100
    advantages = np.tile([0.0, -np.inf, 0.2], (100, 1))
    right = np.array([[0.0, np.nan, 1.0] if i % 10 else [1.0, np.nan, 0.0] for i in range(100)])
    wrong = np.array([[0.0, np.nan, 1.0] if i % 10 > 3 else [1.0, np.nan, 0.0] for i in range(100)])
    sure = fit_temperature(states, advantages, right, margin=0.0)
    unsure = fit_temperature(states, advantages, wrong, margin=0.0)
    assert unsure > sure
    shown = Rule(0.0, sure).probabilities(BOTH, advantages[0])
    assert shown["FINISH"] == pytest.approx(0.9, abs=0.03)


def test_a_policy_that_knows_nothing_is_frozen_into_the_default() -> None:
    trees = random_trees(1, 60)
    useless = Preferring("REVISE", advantage=-0.1)
    frozen = freeze(useless, trees, COST)
    assert frozen.crossed == frozen.fitted == follow(trees, default_schedule)
    # It says the same of all states: nothing to be made of that but to leave it.
    assert set(frozen.scorer.score([t.nodes[""].seen for t in trees]).sufficiency.tolist()) == {0.9}


def test_each_question_is_judged_with_a_margin_that_others_chose() -> None:
    trees = random_trees(2, 80)
    scored = score(trees, Preferring("FINISH", advantage=0.2))
    judged = crossed(scored, COST)
    at_once, default = follow(trees, stop), follow(trees, default_schedule)
    for judged_end, *either in zip(judged.ends, at_once.ends, default.ends, strict=True):
        assert judged_end in either, "whatever the margin, it is one of the two"


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
        ({"questions": 39, "known": 39}, "is known for 39 held-out questions, and at least 40 are needed."),
        ({"questions": 400}, "What it does was tried in only 290 of 400 held-out questions"),
        ({"gain": Interval(0.01, 0.0, 0.02)}, "default schedule, +0.010 [+0.000, +0.020], is not"),
        # none that could be gone
        ({"gain": Interval(-0.03, -0.106, 0.017)}, "-0.030 [-0.106, +0.017], is not surely above 0."),
        ({"gain": NOTHING}, "over the default schedule"),
        ({"gain": Interval(0.003, 0.001, 0.005)}, "+0.005], would be gone if 1 more question"),
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


def _walked(trees: list[Tree], scorer: Preferring, rule: Rule) -> Outcomes:
    return follow(trees, score(trees, scorer).decide(rule))


def _frozen(trees: list[Tree], scorer: Preferring) -> Frozen:
    walked = _walked(trees, scorer, RULE)
    return Frozen(Calibrated(scorer, IDENTITY), RULE, walked, walked, 0.02)


def test_finishing_early_gains_the_step_it_saves() -> None:
    trees = [tree(f"q{i}") for i in range(120)]
    measured = measure(_frozen(trees, Preferring("FINISH", 0.2)), trees, 0.05, None, "data")
    assert (measured.questions, measured.known, measured.over_active) == (120, 120, None)
    assert measured.gain.estimate == pytest.approx(0.05)
    assert measured.gain.low == pytest.approx(0.05)
    assert measured.milliseconds >= 0
    assert judge(replace(measured, milliseconds=1.0)).passed


def test_questions_that_nobody_tried_count_against_it() -> None:
    trees = [tree(f"q{i}", later=None if i % 2 else 1.0) for i in range(240)]
    measured = measure(_frozen(trees, Preferring("CONTINUE", 0.2)), trees, 0.05, None, "data")
    assert (measured.questions, measured.known) == (240, 120)
    assert "only 120 of 240" in judge(measured).reason
    frozen = freeze(Preferring("CONTINUE", 0.2), trees, 0.05)  # what nobody tried is not guessed
    assert frozen.crossed.unknown > 0
    assert np.isfinite([frozen.rule.margin, frozen.rule.temperature]).all()


def test_the_active_policy_is_walked_over_the_same_questions(tmp_path: Path) -> None:
    early = Preferring("FINISH", 0.2)
    active = policy(tmp_path, save=early.save)
    trees = [tree(f"q{i}") for i in range(120)]
    gate = judge(measure(_frozen(trees, Preferring("CONTINUE", 0.2)), trees, 0.05, active, "other data"))
    assert gate.measures[f"utility over the active policy {NAME}"] == [-0.05, -0.05, -0.05]
    assert f"over the active policy {NAME}" in gate.reason
    # Trained again on the same data it does not lose against itself. Crossed, a margin that others chose
    # keeps it from finishing early.
    again = replace(_frozen(trees, early), crossed=_walked(trees, early, Rule(0.5, 0.1)))
    for data, utility in ((read(active).data.sha256, 0.0), ("other data", -0.05)):
        over_active = measure(again, trees, 0.05, active, data).over_active
        assert over_active is not None
        assert over_active.estimate == pytest.approx(utility)
