"""Calibration by cases worked by hand, what is frozen, and the crossed look at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.state import Action
from policy.decisions import INDEX, Node, Read, Seen, Tree, examples
from policy.judging import (
    calibration_error,
    choose_margin,
    crossed,
    default_schedule,
    fit_curve,
    fit_temperature,
    follow,
    freeze,
    score,
)
from policy.serving.scorers import IDENTITY, Calibrated, Curve, Rule, Scores, calibrated
from policy.training import forest
from policy.training.material import material
from tests.policy.made import Preferring
from tests.policy.trees import random_trees, stop

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


def tree(name: str, now: float, later: float) -> Tree:
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
    good = [tree(f"good {i}", 1.0, 1.0) for i in range(20)]
    bad = [tree(f"bad {i}", 0.4, 1.0) for i in range(20)]
    advantages = {t.question: 0.3 if t.question.startswith("good") else 0.1 for t in [*good, *bad]}
    margin, utility = margin_for(advantages, [*good, *bad], cost=0.1)
    assert 0.1 <= margin < 0.3
    assert utility == pytest.approx(0.85)  # by default, two steps and all of it: 0.8


def test_where_leaving_the_default_never_pays_it_is_never_left() -> None:
    trees = [tree(f"q{i}", 0.0, 1.0) for i in range(10)]
    margin, utility = margin_for({t.question: 0.2 for t in trees}, trees, cost=0.05)
    assert margin > 0.2
    assert utility == pytest.approx(0.9)


def test_what_chance_could_have_brought_does_not_lower_the_margin() -> None:
    # One question of forty gains 0.1 by a deviation that is as often a loss: within half an error.
    trees = [tree(f"q{i}", 1.0 if i % 2 else 0.86, 1.0) for i in range(40)]
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


# --- frozen on held-out questions ------------------------------------------------------------------------


def test_a_policy_that_knows_nothing_is_frozen_into_the_default() -> None:
    trees = random_trees(1, 60)
    useless = Preferring("REVISE", advantage=-0.1)
    frozen = freeze(useless, trees, COST)
    assert frozen.crossed == frozen.fitted == follow(trees, default_schedule)
    # It says the same of all states: nothing to be made of that but to leave it.
    assert set(frozen.scorer.score([t.root.seen for t in trees]).sufficiency.tolist()) == {0.9}


def test_each_question_is_judged_with_a_margin_that_others_chose() -> None:
    trees = random_trees(2, 80)
    scored = score(trees, Preferring("FINISH", advantage=0.2))
    judged = crossed(scored, COST)
    at_once, default = follow(trees, stop), follow(trees, default_schedule)
    for judged_end, *either in zip(judged.ends, at_once.ends, default.ends, strict=True):
        assert judged_end in either, "whatever the margin, it is one of the two"


def test_runs_of_one_path_each_are_judged_by_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 5)
    rng = np.random.default_rng(0)
    trees = [one_path(tree, rng) for tree in random_trees(4, 150)]
    found = material(Read(trees))
    scorer = forest.fit(examples(found.training, COST), seed=0)
    frozen = freeze(scorer, found.validation, COST)

    # Where the margin leaves the path nobody knows what would have come of it, and that is not guessed.
    assert frozen.crossed.unknown > 0
    assert np.isfinite(frozen.rule.margin)
    assert np.isfinite(frozen.rule.temperature)


def one_path(tree: Tree, rng: np.random.Generator) -> Tree:
    """As a run that a person watched: one path, and only its end is measured."""
    nodes, node = {}, tree.root
    while True:
        following = tree.child(node, str(rng.choice(node.valid)))  # type: ignore[arg-type]
        ended = following is None
        nodes[node.path] = replace(node, quality=node.quality if ended else None, detail={})
        if following is None:
            return Tree(tree.question, "own", nodes, tree.text)
        node = following
