"""A training from beginning to end: forest and encoder, killed, cancelled, forced, refused."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy import judging
from policy.decisions import Examples, load_trees, split
from policy.judging import freeze, measure, score
from policy.serving.folder import CannotWritePolicy, Gate, open_policy, read
from policy.serving.registry import Registry
from policy.training import course, fitting, forest
from policy.training.course import TrainingRequest, train
from policy.training.progress import (
    Began,
    DataSheet,
    Finished,
    HeldOut,
    Trained,
    TrainingCancelled,
    TrainingEvent,
)
from tests.policy.training.made import collected
from traces import paths
from traces.store import Store

QUESTIONS = 52


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    return collected(tmp_path / "some.duckdb", QUESTIONS)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "box").mkdir()
    return Registry(tmp_path / "policies", tmp_path / "box")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few trees a forest, one improvement, few timed decisions: the course is what is tested."""
    monkeypatch.setattr(forest, "TREES", 5)
    monkeypatch.setattr(forest, "ROUNDS", 1)
    monkeypatch.setattr(judging, "_TIMED", 3)


def asked(store_file: Path, **how: object) -> TrainingRequest:
    return TrainingRequest(**{"method": "forest", "sources": (store_file,), **how})  # type: ignore[arg-type]


def trained(request: TrainingRequest, registry: Registry) -> tuple[list[TrainingEvent], Finished]:
    events: list[TrainingEvent] = []
    train(request, events.append, registry=registry)
    last = events[-1]
    assert isinstance(last, Finished)
    return events, last


def test_a_forest_is_trained_judged_and_written(store_file: Path, registry: Registry) -> None:
    events, done = trained(asked(store_file, activation="force"), registry)
    kinds = [event.phase for event in events if isinstance(event, Began)]
    assert list(dict.fromkeys(kinds)) == ["data", "train", "calibrate", "gate", "write"]
    sheet = next(event for event in events if isinstance(event, DataSheet))
    assert "to learn from" in sheet.rows["questions, toy"]
    verdict = next(event for event in events if isinstance(event, Gate))
    assert not verdict.passed
    assert "held-out questions" in verdict.reason
    assert done.active
    assert registry.active().name == done.name
    (made_active,) = registry.history()
    assert (made_active.forced, made_active.how) == (True, "train")
    manifest = read(done.folder)
    assert manifest.name == done.name
    assert manifest.data.questions == QUESTIONS
    assert manifest.gate == verdict
    assert manifest.command.startswith("deepthink train-policy --method forest --from some.duckdb")
    assert manifest.metrics["sufficiency: calibration error (ECE)"] >= 0
    assert not list(course.folder().glob("*/*"))


def test_the_same_request_gives_the_same_policy_from_the_training_questions_alone(
    store_file: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    fit = forest.fit

    def spying(examples: Examples, *, seed: int, onto: forest.Forest | None = None) -> forest.Forest:
        seen.update(examples.questions)
        return fit(examples, seed=seed, onto=onto)

    monkeypatch.setattr(forest, "fit", spying)
    _, one = trained(asked(store_file, name="one"), registry)
    _, other = trained(asked(store_file, name="other"), registry)
    assert not one.active
    assert registry.active().name == "box"
    trees = load_trees(Store(store_file)).trees
    (a, made_a), (b, made_b) = open_policy(one.folder), open_policy(other.folder)
    assert made_a.rule == made_b.rule
    assert np.array_equal(score(trees, a).scores.advantages, score(trees, b).scores.advantages)
    _, validation = split(trees)
    assert seen
    assert not seen & {tree.question for tree in validation}


def test_a_few_decisions_of_ones_own_correct_the_boxed_forest(store_file: Path, tmp_path: Path) -> None:
    box = tmp_path / "boxed"
    _, before = trained(asked(store_file, name="boxed-forest"), Registry(box))
    own = paths.store_file()
    own.parent.mkdir(parents=True, exist_ok=True)
    collected(own, 12, seed=1)
    _, done = trained(asked(store_file, sources=()), Registry(tmp_path / "policies", box))
    manifest = read(done.folder)
    assert manifest.rule == read(before.folder).rule
    assert manifest.data.questions == 12
    assert "held-out decisions" in manifest.metrics["decided otherwise than by boxed-forest"]
    assert manifest.gate is not None
    assert not manifest.gate.passed


def test_a_taken_name_is_told(
    store_file: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    (registry.root / "mine").mkdir(parents=True)
    with pytest.raises(CannotWritePolicy, match="mine"):
        trained(asked(store_file, name="mine"), registry)  # before anything is read
    (registry.root / "mine").rmdir()

    def while_another_is_quicker(*given: Any) -> Any:
        (registry.root / "mine").mkdir(parents=True)
        return measure(*given)

    with monkeypatch.context() as patched:
        patched.setattr(course, "measure", while_another_is_quicker)
        with pytest.raises(CannotWritePolicy, match="mine"):
            trained(asked(store_file, name="mine"), registry)


def test_cancelled_it_leaves_the_active_policy_alone(
    store_file: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel = threading.Event()

    def cancelled_meanwhile(*what: object) -> object:
        cancel.set()
        return freeze(*what)  # type: ignore[arg-type]

    monkeypatch.setattr(course, "freeze", cancelled_meanwhile)
    with pytest.raises(TrainingCancelled) as stopped:
        train(asked(store_file), lambda _event: None, cancel, registry)
    assert "starts it again" in stopped.value.way_out, "a forest has no checkpoints to resume from"
    assert registry.active().name == "box"
    assert not list(registry.root.glob("*/manifest.json"))


@pytest.mark.model
def test_an_encoder_goes_the_same_way(
    store_file: Path, registry: Registry, minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "_BATCH", 4)
    events, done = trained(asked(store_file, method="reward", steps=2), registry)
    assert [event.step for event in events if isinstance(event, Trained)] == [1, 2]
    assert [event.step for event in events if isinstance(event, HeldOut)] == [0, 2]
    scorer, manifest = open_policy(done.folder)
    assert manifest.base is not None
    assert manifest.base.name == "all-minilm-l6-v2"
    tree = load_trees(Store(store_file)).trees[0]
    row = scorer.score([tree.nodes[""].seen]).advantages[0]
    assert manifest.rule.action(tree.nodes[""].valid, row) in tree.nodes[""].valid
