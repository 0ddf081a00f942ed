"""What a training keeps, and for how long."""

from __future__ import annotations

from policy.decisions.returns import Examples, examples
from policy.training.request import TrainingRequest
from policy.training.workplace import Workplace, folder
from tests.policy.trees import random_trees


def test_targets_are_worked_out_once_for_a_request_on_the_same_data() -> None:
    plain = examples(random_trees(0, 3), 0.05)
    made: list[str] = []

    def make() -> Examples:
        made.append("made")
        return plain

    for _ in range(2):
        place = Workplace(TrainingRequest(), "data", "base")
        place.targets(plain, make)
    assert len(made) == 1
    Workplace(TrainingRequest(cost=0.1), "data", "base").targets(plain, make)
    assert len(made) == 2

    place.clear()
    assert len(list(folder().glob("*/targets.safetensors"))) == 1
