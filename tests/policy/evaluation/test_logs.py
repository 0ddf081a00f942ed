"""Off-policy evaluation of stored runs: which of them count, and how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.decisions import STATE_VERSION
from agent.state import ACTIONS
from policy.evaluation.logs import from_logs
from policy.rule import Rule
from policy.trees import Tree
from tests.policy.evaluation.scorers import Knowing
from tests.policy.made import Preferring
from tests.policy.trees import random_trees
from traces.collected import Collected, CollectedQuestion
from traces.outcomes import Outcome
from traces.run_records import DecisionRow
from traces.store import Store

RULE = Rule(0.05, 1.0)
EAGER, FOLLOWING = Preferring("FINISH"), Preferring("FINISH", advantage=0.0)


def put(
    store: Store, tree: Tree, path: str, source: str, *, chance: float = 0.9, measured: Sequence[str] = ()
) -> None:
    """Store one way through a tree; ``measured`` are the paths whose quality is known."""
    rows, outcomes = [], [Outcome("elsewhere", "answer", 0.5, {})]
    for at in range(len(path) + 1):
        node = tree.nodes[path[:at]]
        action = "FINISH" if at == len(path) else {"C": "CONTINUE", "R": "REVISE"}[path[at]]
        rows.append(
            DecisionRow(
                at,
                node.steps,
                STATE_VERSION,
                {},
                node.valid,
                action,
                {a: float(a == action) for a in ACTIONS},
                chance,
                source,
                0.0,
                path=node.path,
                text=node.seen.text,
                features=node.seen.features,
            )
        )
        if node.path in measured and node.quality is not None:
            outcomes.append(Outcome(node.path, "answer", node.quality, {}))
    Collected(store).put(CollectedQuestion("toy", tree.question, "?", [], [], "e", "", rows, outcomes))


def deepest(tree: Tree) -> str:
    """The longest path with most CONTINUEs."""
    return max(tree.nodes, key=lambda path: (len(path), path.count("C")))


def test_full_runs_replay_a_policy_that_stops_at_once(tmp_path: Path) -> None:
    store, trees = Store(tmp_path / "s.duckdb"), random_trees(1, 60)
    trees = [tree for tree in trees if "FINISH" in tree.root.valid]
    assert len(trees) > 50
    with store.connect():  # one opening for all
        for tree in trees:
            path = deepest(tree)
            put(store, tree, path, "horizon", measured=[path[:i] for i in range(len(path) + 1)])
    found = from_logs(store, EAGER, RULE, resamples=50)
    assert found.runs == len(trees)
    assert not found.left_out
    expected = sum(float(tree.root.quality or 0.0) - 0.05 for tree in trees) / len(trees)
    assert found.estimate.doubly_robust.estimate == pytest.approx(expected, abs=1e-4)


def test_runs_that_say_nothing_are_counted_by_reason(tmp_path: Path) -> None:
    store, trees = Store(tmp_path / "s.duckdb"), random_trees(2, 5)
    put(store, trees[0], "", "rules", measured=[""])
    put(store, trees[1], "", "human", measured=[""])
    put(store, trees[2], "", "rules")
    put(store, next(t for t in trees[3:] if len(t.root.valid) > 1), "", "llm", chance=0.0, measured=[""])
    found = from_logs(store, Knowing(), RULE, resamples=50)
    assert found.runs == 1
    assert found.left_out == {
        "was decided by a person, with no known probability": 1,
        "has no outcome": 1,
        "has impossible probabilities": 1,
    }
    assert "needed" in found.estimate.refused


def test_what_the_budget_decided_counts_for_every_policy(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.duckdb")
    trees = random_trees(3, 60)
    with store.connect():
        for tree in trees:
            put(store, tree, "", "budget", measured=[""])
    found = from_logs(store, FOLLOWING, RULE, resamples=50)
    assert found.estimate.effective == pytest.approx(60)
    expected = sum(float(tree.root.quality or 0.0) - 0.05 for tree in trees) / len(trees)
    assert found.estimate.doubly_robust.estimate == pytest.approx(expected, abs=1e-4)


def test_questions_with_every_path_are_not_logs(tmp_path: Path) -> None:
    store, tree = Store(tmp_path / "s.duckdb"), next(t for t in random_trees(4, 9) if len(t.nodes) > 3)
    rows = [
        DecisionRow(
            at, n.steps, STATE_VERSION, {}, n.valid, "FINISH", {}, 1.0, "explorer", 0.0, path=n.path,
            text="", features=n.seen.features,
        )
        for at, n in enumerate(tree.nodes.values())
    ]  # fmt: skip
    outcomes = [Outcome("", "evidence", 0.5, {})]
    Collected(store).put(CollectedQuestion("toy", "q", "?", [], [], "e", "", rows, outcomes))
    assert from_logs(store, EAGER, RULE, resamples=50).left_out == {"has several ways, or gaps": 1}
