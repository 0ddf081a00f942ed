"""What is frozen, and the crossed look at it."""

from __future__ import annotations

import numpy as np
import pytest

from policy.evaluation.schedules import stop
from policy.evaluation.walking import follow, score
from policy.training.freezing import crossed, freeze, separation
from policy.trees import default_action
from tests.policy.made import Preferring
from tests.policy.trees import random_trees

COST = 0.05


def test_a_policy_that_knows_nothing_is_frozen_into_the_default() -> None:
    trees = random_trees(1, 60)
    useless = Preferring("REVISE", advantage=-0.1)

    frozen = freeze(useless, trees, COST)
    default = follow("", trees, lambda node: default_action(node.valid), COST)

    assert np.array_equal(frozen.crossed.quality, default.quality)
    assert frozen.margin.utility == pytest.approx(frozen.margin.default)
    assert np.isnan(frozen.separation) or frozen.separation == 0.5


def test_each_question_is_judged_with_a_margin_that_others_chose() -> None:
    trees = random_trees(2, 80)
    scored = score(trees, Preferring("FINISH", advantage=0.2))

    judged = crossed(scored, COST)

    assert [walk.question for walk in judged.walks] == [tree.question for tree in trees]
    stops_at_once = follow("", trees, stop)
    default = follow("", trees, lambda node: default_action(node.valid), COST)
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
