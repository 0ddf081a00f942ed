"""What there is to learn from: enough of it, whole, and never on both sides of the split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.decisions.decider import OLDEST_VERSION
from models.protocols import ModelMissing
from policy.decisions import Node, NoSuchSource, Read, Seen, Tree
from policy.training.course import TrainingRequest, base_model
from policy.training.material import gather, material
from policy.training.progress import CannotTrain, UnusedOption
from tests.policy.training.made import collected
from traces.parquet import export
from traces.store import Store


def tree(name: str, text: str = "", number: float = 1.0) -> Tree:
    nodes = {
        path: Node(path, Seen(path, {"held": number}, ("CONTINUE", "FINISH")), 0.5, "evidence")
        for path in ("", "C", "CC", "CCC", "CCCC")
    }
    return Tree(name, "toy", nodes, text)


def test_several_stores_are_one_and_the_digest_knows_no_order(tmp_path: Path) -> None:
    one = collected(tmp_path / "one.duckdb", 52)
    other = collected(tmp_path / "other.duckdb", 8, seed=2, dataset="tin")
    first = gather([one, other], tmp_path / "work")
    second = gather([other, one], tmp_path / "work")
    assert len(first.trees) == 60
    assert first.sha256 == second.sha256
    assert gather([one], tmp_path / "work").sha256 != first.sha256


def test_what_is_given_twice_counts_once(tmp_path: Path) -> None:
    store = collected(tmp_path / "some.duckdb", 52)
    file = tmp_path / "some.parquet"
    export(Store(store), file)
    once, twice = gather([store], tmp_path / "work"), gather([store, file], tmp_path / "work")
    assert (len(twice.trees), twice.sha256, twice.sources) == (52, once.sha256, once.sources)
    assert "52 runs were given more than once" in twice.warnings[0]


@pytest.mark.parametrize("name", ["nothing", "x" * 300])
def test_a_file_that_is_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(NoSuchSource, match="There is no file"):
        gather([tmp_path / f"{name}.duckdb"], tmp_path / "work")


GOOD = [tree(f"q{i}") for i in range(60)]


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (Read(GOOD[:12]), "of 12 questions to learn from; at least 28 questions and"),
        (Read([], other_versions=7), f"older than version {OLDEST_VERSION}"),
        (Read([*GOOD, tree("bad", "What?", number=float("nan"))]), "no number for held"),
    ],
)
def test_too_few_decisions_other_versions_and_damaged_numbers_are_refused(read: Read, said: str) -> None:
    with pytest.raises(CannotTrain, match=said):
        material(read)


def test_the_same_words_are_never_on_both_sides_and_what_is_left_out_is_told() -> None:
    words = ["who wrote book {}?", "Who wrote  BOOK {}?"]
    trees = [tree(f"q{i}", text=words[i % 2].format(i % 30)) for i in range(90)]
    found = material(Read(trees, other_versions=7, unmeasured=3))

    def said(some: Sequence[Tree]) -> set[str]:
        return {" ".join(t.text.split()).casefold() for t in some}

    assert not said(found.training) & said(found.validation)
    told = " ".join(found.warnings)
    assert all(words in told for words in ("in the same words", "7 decisions", "3 runs"))


def test_the_digest_tells_what_is_learned_from() -> None:
    changed = replace(GOOD[0].nodes[""], quality=0.6)
    other = [Tree("q0", "toy", {**GOOD[0].nodes, "": changed}), *GOOD[1:]]
    assert material(Read(GOOD)).sha256 != material(Read(other)).sha256


@pytest.mark.parametrize("option", [{"base": "all-minilm-l6-v2"}, {"epochs": 2.0}, {"steps": 5}])
def test_options_that_a_forest_does_not_have_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(UnusedOption):
        TrainingRequest(method="forest", **option)
    TrainingRequest(method="reward", **option)


def test_a_request_knows_its_command_without_anybodys_folders() -> None:
    request = TrainingRequest("forest", (Path("/somewhere/some store.duckdb"),), cost=0.1, seed=7)
    assert request.command == (
        "deepthink train-policy --method forest --from 'some store.duckdb' --cost 0.1 --seed 7"
    )
    assert TrainingRequest().command == "deepthink train-policy --method forest"


def test_only_the_forest_needs_no_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "none"))
    assert base_model(TrainingRequest("forest")) is None
    with pytest.raises(ModelMissing, match="all-minilm-l6-v2 is not on this machine"):
        base_model(TrainingRequest("reward"))
    assert base_model(TrainingRequest("reward", base=str(tmp_path))) == (str(tmp_path), tmp_path)
