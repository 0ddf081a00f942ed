"""What is frozen, and the crossed look at it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from policy.decisions.reading import Read
from policy.decisions.returns import examples
from policy.decisions.trees import Tree, default_action
from policy.judging.freezing import crossed, freeze, separation
from policy.judging.walking import follow, score
from policy.training import forest
from policy.training.course import measured
from policy.training.material import material
from tests.policy.made import Preferring
from tests.policy.trees import random_trees, stop

COST = 0.05


def test_a_policy_that_knows_nothing_is_frozen_into_the_default() -> None:
    trees = random_trees(1, 60)
    useless = Preferring("REVISE", advantage=-0.1)

    frozen = freeze(useless, trees, COST)
    default = follow("", trees, lambda node: default_action(node.valid))

    assert np.array_equal(frozen.crossed.quality, default.quality)
    assert frozen.margin.utility == pytest.approx(frozen.margin.default)
    assert np.isnan(frozen.separation) or frozen.separation == 0.5


def test_each_question_is_judged_with_a_margin_that_others_chose() -> None:
    trees = random_trees(2, 80)
    scored = score(trees, Preferring("FINISH", advantage=0.2))

    judged = crossed(scored, COST)

    assert [walk.question for walk in judged.walks] == [tree.question for tree in trees]
    stops_at_once = follow("", trees, stop)
    default = follow("", trees, lambda node: default_action(node.valid))
    for at in range(len(trees)):  # whatever the margin, it is one of the two
        assert judged.steps[at] in {stops_at_once.steps[at], default.steps[at]}


def test_the_frozen_sufficiency_is_what_is_so_on_the_whole() -> None:
    trees = random_trees(3, 100)

    frozen = freeze(Preferring(sufficient=0.9), trees, COST)

    assert frozen.scorer.method == "forest"
    # It says the same of all states: nothing to be made of that but to leave it.
    assert set(frozen.scorer.score([t.root.seen for t in trees]).sufficiency.tolist()) == {0.9}


def test_separation_counts_pairs_and_halves_ties() -> None:
    raw = np.array([0.9, 0.5, 0.5, 0.1])

    assert separation(raw, np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(3.5 / 4)
    assert separation(raw, np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(0.5 / 4)
    assert np.isnan(separation(raw, np.ones(4)))


def test_runs_of_one_path_each_are_judged_by_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 5)
    rng = np.random.default_rng(0)
    trees = [one_path(tree, rng) for tree in random_trees(4, 150)]
    found = material(Read(trees, 0, 0, {"rating": 150}))

    scorer = forest.fit(examples(found.training, COST), seed=0)
    frozen = freeze(scorer, found.validation, COST)
    metrics = measured(frozen, COST)

    # Where the margin leaves the path nobody knows what would have come of it, and that is not guessed.
    assert frozen.crossed.unknown > 0
    assert np.isfinite(frozen.rule.margin)
    assert np.isfinite(frozen.rule.temperature)
    assert metrics["held-out questions"] == len(found.validation)


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
