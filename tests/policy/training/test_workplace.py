"""What trainings on the same data share, and for how long."""

from __future__ import annotations

from policy.decisions.returns import Examples, examples
from policy.training.request import TrainingRequest
from policy.training.workplace import Workplace, folder
from tests.policy.trees import random_trees


def _targets(place: Workplace, made: list[str]) -> Examples:
    plain = examples(random_trees(0, 3), 0.05)

    def make() -> Examples:
        made.append(place.folder.name)
        return plain

    return place.targets(plain, make)


def test_targets_are_worked_out_once_for_all_methods() -> None:
    made: list[str] = []
    for method in ("forest", "reward"):
        _targets(Workplace(TrainingRequest(method=method), "data", "base"), made)
    assert len(made) == 1

    _targets(Workplace(TrainingRequest(cost=0.1), "data", "base"), made)
    assert len(made) == 2


def test_what_is_shared_goes_when_a_training_on_other_data_is_finished() -> None:
    older, interrupted, newer = (
        Workplace(TrainingRequest(), data, "base") for data in ("older", "interrupted", "newer")
    )
    for place in (older, interrupted, newer):
        _targets(place, [])
    older.clear()
    newer.clear()

    kept = len(list(folder().glob("*/targets.safetensors")))
    assert kept == 2  # the newer's own, and what the interrupted one goes on with
    made: list[str] = []
    _targets(Workplace(TrainingRequest(), "interrupted", "base"), made)
    assert not made
