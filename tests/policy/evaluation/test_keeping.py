"""Kept scores: the same as asked, and asked once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policy.evaluation.keeping import Keeping
from tests.policy.evaluation.scorers import Knowing
from tests.policy.trees import random_trees


def test_scores_are_kept_over_a_restart(tmp_path: Path) -> None:
    states = [node.seen for tree in random_trees(1, 10) for node in tree.nodes.values()]
    file = tmp_path / "kept" / "forest.npz"
    plain, first = Knowing().score(states), Knowing()
    kept = Keeping(first, file)
    kept.score(states[:5])
    np.testing.assert_array_equal(kept.score(states).advantages, plain.advantages)
    assert first.asked <= len(states)
    second = Knowing("value")
    again = Keeping(second, file)
    assert again.method == "value"
    found = again.score(states[::-1])
    np.testing.assert_array_equal(found.advantages, plain.advantages[::-1])
    np.testing.assert_array_equal(found.sufficiency, plain.sufficiency[::-1])
    assert second.asked == 0
    assert again.score([]).advantages.shape == (0, 3)
    assert [path.name for path in file.parent.iterdir()] == ["forest.npz"]
