"""The command: from stores and policy folders to tables, and on from where it was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.scripted import ScriptedChat
from policy import forest
from policy.evaluation import command
from policy.evaluation.command import CannotEvaluate, Wanted, chosen, judge, table
from policy.evaluation.judges import Judgements
from policy.evaluation.protocol import Settings
from policy.rule import Rule
from policy.sources import NoSuchSource
from tests.policy.made import Preferring, load, policy
from tests.policy.training.made import collected
from tests.policy.trees import random_trees
from traces.store import Store

SETTINGS = Settings(resamples=50)


def store(path: Path, questions: int, seed: int) -> Path:
    """A collected store of two data sets, whose questions no other store has."""
    collected(path, questions, seed)
    with Store(path).transaction() as db:
        db.execute("UPDATE gold SET dataset = CASE WHEN length(question_id) = 5 THEN 'one' ELSE 'two' END")
        db.execute("UPDATE gold SET question_id = ? || question_id", [f"{path.stem}-"])
        db.execute("UPDATE runs SET question = ? || question", [f"{path.stem}: "])
    return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of training and of test questions."""
    folder = tmp_path_factory.mktemp("stores")
    return store(folder / "train.duckdb", 24, 1), store(folder / "dev.duckdb", 16, 2)


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a policy; no forest is grown for data sets left out."""
    monkeypatch.setattr(forest, "load", load)
    monkeypatch.setattr(command, "refitted", lambda *_given: (Preferring("REVISE"), Rule(0.05, 1.0)))
    return policy(tmp_path / "policies")


def wanted(stores: tuple[Path, Path], folder: Path, trained: Path, **changes: object) -> Wanted:
    """What is asked for."""
    fields: dict[str, object] = {"judgements": None, "settings": SETTINGS} | changes
    out = folder / "out" / "RESULTS.md"
    return Wanted([stores[0]], [stores[1]], [str(trained)], work=folder / "work", out=out, **fields)  # type: ignore[arg-type]


def test_the_table_is_written_and_made_again_from_what_was_kept(
    stores: tuple[Path, Path], trained: Path, tmp_path: Path
) -> None:
    judgements = tmp_path / "judged.jsonl"
    chat = ScriptedChat([{"C": 3, "A": 2, "B": 1}] * 200)
    judged = judge([stores[1]], chat, 5, judgements, lambda _judged: None)
    assert 0 < judged == len(Judgements(judgements))
    assert judge([stores[1]], ScriptedChat([]), 5, judgements, lambda _judged: None) == 0
    asked = wanted(stores, tmp_path, trained, judgements=judgements)
    told: list[str] = []
    first = table(asked, "the command", told.append)
    assert [scope.name for scope in first.scopes] == ["all", "one", "two"]
    assert [scope.name for scope in first.left_out] == ["one", "two"]
    assert first.scopes[0].row("forest").judges[0].judge.startswith("judge ")
    text = asked.out.read_text()
    assert "the command" in text
    assert "## one, trained without it" in text
    assert asked.out.with_suffix(".json").exists()
    assert any("forest-20261121-203000" in line for line in told)
    again = table(asked, "the command", told.append)
    assert again.scopes[0].row("forest").measures == first.scopes[0].row("forest").measures


def test_more_questions_contain_the_fewer_and_sets_are_balanced() -> None:
    trees = [*random_trees(1, 9, "a"), *random_trees(2, 3, "b")]
    few, more = chosen(trees, 2), chosen(trees, 4)
    assert {t.question for t in few} < {t.question for t in more}
    assert sorted(t.dataset for t in few) == ["a", "a", "b", "b"]
    assert [t.dataset for t in more].count("b") == 3


def test_what_cannot_be_evaluated(stores: tuple[Path, Path], trained: Path, tmp_path: Path) -> None:
    def run(train: Path, test: Path) -> None:
        table(wanted((train, test), tmp_path, trained), "c", lambda _line: None)

    with pytest.raises(NoSuchSource, match="There is no file"):
        run(stores[0], tmp_path / "none.duckdb")
    with pytest.raises(CannotEvaluate, match="Every test question"):
        run(stores[0], stores[0])
    empty = tmp_path / "empty.duckdb"
    with Store(empty).connect():
        pass
    with pytest.raises(CannotEvaluate, match="no question whose outcome"):
        run(stores[0], empty)


def test_a_slow_policy_is_evaluated_on_a_few(
    stores: tuple[Path, Path], trained: Path, tmp_path: Path
) -> None:
    asked = wanted(stores, tmp_path, trained, few={str(trained): 3})
    table(asked, "c", lambda _line: None)
    assert "| forest | 6 (+10 not known) |" in asked.out.read_text()
