"""A store of collected questions with states as a run has them, and something to learn in their numbers."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import duckdb
import numpy as np

from agent.decisions.decider import STATE_VERSION, PolicyState
from agent.decisions.features import features, state_text
from policy.decisions import Node
from tests.agent.made import observed
from tests.policy.trees import random_trees
from traces.collected import Collected, Gold
from traces.decisions import DecisionRow, Outcome
from traces.store import Store


def collected(path: Path, questions: int, seed: int = 0, dataset: str = "toy") -> Path:
    path.write_bytes(_written(questions, seed, dataset))
    return path


@cache
def _written(questions: int, seed: int, dataset: str) -> bytes:
    """The file of such a store: each is made once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        with Store(path).connect(), duckdb.connect(str(path)) as db:  # open throughout: opening takes long
            _fill(Collected(Store(path)), questions, seed, dataset)
            db.execute("CHECKPOINT")  # a store that a test keeps open would keep rows beside the file
        return path.read_bytes()


def _fill(into: Collected, questions: int, seed: int, dataset: str) -> None:
    for tree in random_trees(seed, questions, dataset, steps=3, revisions=1):
        rows, outcomes = [], []
        for at, node in enumerate(tree.nodes.values()):
            state = _state(tree.text, node)
            rows.append(
                DecisionRow(
                    at,
                    node.steps,
                    STATE_VERSION,
                    state.to_json(),
                    node.valid,
                    node.valid[0],
                    {a: 1.0 if a == node.valid[0] else 0.0 for a in ("CONTINUE", "REVISE", "FINISH")},
                    1.0,
                    "explorer",
                    0.0,
                    path=node.path,
                    text=state_text(state),
                    features=features(state),
                )
            )
            assert node.quality is not None
            outcomes.append(Outcome(node.path, "evidence", node.quality))
        gold = Gold(dataset, tree.question, ["so"])
        into.put(gold, tree.text, rows, outcomes, embedder="hashed", reranker="")


def _state(question: str, node: Node) -> PolicyState:
    seen = node.seen.features
    held = int(seen["held"])
    chance = np.random.default_rng(len(node.path) + held)
    pages = [
        {"title": f"Page {i}", "excerpt": "It is so.", "step": 1, "relevance": 0.6 + 0.1 * chance.random()}
        for i in range(held)
    ]
    return observed(
        question=question,
        step=node.steps,
        steps_left=3 - node.steps,
        revisions_left=1 - node.path.count("R"),
        plan_done=node.steps,
        open_questions=["What else?"] * int(seen["open"]),
        last_action={"C": "CONTINUE", "R": "REVISE"}.get(node.path[-1:], ""),
        fresh=int(not seen["barren"]),
        barren=int(seen["barren"]),
        scores=[0.9 if held else 0.1],
        grade="correct" if held else "incorrect",
        findings=[],
        evidence=pages,
    )
