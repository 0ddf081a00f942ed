"""Each stopping rule's row is that of the prefix in which it finishes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agent.budget import Budget
from policy.decisions.trees import Seen
from policy.evaluation.cache import CachedChat
from policy.evaluation.cases import CaseSet
from policy.evaluation.rows import Row, Rows
from policy.serving.scorers import Rule, Scores
from tests.agent.conftest import fill
from tests.benchmarks.made_trajectories import DONE, END, GO, long, prefix, short, trajectory
from tests.benchmarks.stopping import STOPPING, replayed, stopped
from tests.policy.evaluation.test_evaluating import answers
from tests.policy.evaluation.working import CASE, parts, replying
from tests.scripted import HashEmbedder, ScriptedChat
from traces.store import Store


def _rows(found: Sequence[Row], question: str) -> dict[str, Row]:
    return {row.system: row for row in found if row.question == question}


def test_every_rule_has_its_row() -> None:
    found = replayed([long(), short()])
    # CR is left unread by the schedules: they follow the plan.
    assert {name: row.short for name, row in _rows(found, "long").items()} == {
        "lean 1 step": "short ",
        "lean 2 steps": "short C",
        "lean 3 steps": "short CC",
        "lean 4 steps": "short CCR",
        "lean plan done": "short CC",
        "lean rules": "short CR",
        "oracle": "short C",
    }
    assert {row.short for row in _rows(found, "short").values()} == {"short "}
    assert len(_rows(found, "short")) == 7


def test_a_row_has_the_measures_of_its_prefix_and_why_it_ended() -> None:
    rows = _rows(replayed([long()]), "long")
    fixed = rows["lean 4 steps"]
    assert fixed.key == ("toy", "long", "lean 4 steps", "small")
    assert fixed.measures == long().prefixes["CCR"].measures
    assert fixed.stopped == "step budget"
    assert {name: row.stopped for name, row in rows.items() if row is not fixed} == {
        "lean 1 step": "fixed",
        "lean 2 steps": "fixed",
        "lean 3 steps": "fixed",
        "lean plan done": "plan done",
        "lean rules": "rules",
        "oracle": "oracle",
    }


def test_what_lost_an_answer_looks_at_the_other_stops_of_its_path() -> None:
    rows = _rows(replayed([long()]), "long")
    assert {name: row.lost for name, row in rows.items()} == {
        "lean 1 step": "stopped early",  # right a step later
        "lean 2 steps": "",
        "lean 3 steps": "stopped late",
        "lean 4 steps": "stopped late",
        "lean plan done": "stopped late",
        "lean rules": "",
        "oracle": "",
    }
    assert {row.lost for row in _rows(replayed([short()]), "short").values()} == {"recall"}


def test_a_state_that_cannot_be_finished_in_is_no_other_stop() -> None:
    begun = prefix("", ("CONTINUE",), "CONTINUE", 1.0, 0.0)
    (row,) = {r.lost for r in replayed([trajectory("q", begun, prefix("C", END, "FINISH", 0.0, 0.5))])}
    assert row == "recall"


def test_a_walk_that_leaves_what_is_known_has_no_row() -> None:
    leaving = trajectory("q", prefix("", GO, "REVISE", 0.0, 0.5), prefix("C", END, "FINISH", 1.0, 1.0))
    assert "lean rules" not in _rows(replayed([leaving]), "q")


def test_the_learned_policy_scores_all_states_in_one_call() -> None:
    calls: list[int] = []

    class Finishing:
        """Wants to finish at the second step."""

        method = "forest"

        def score(self, states: Sequence[Seen]) -> Scores:
            calls.append(len(states))
            wanted = [0.3 if state.features["step"] == 2 else -0.3 for state in states]
            advantages = np.array([[0.0, -1.0, want] for want in wanted])
            return Scores(advantages, np.full(len(states), 0.5))

    found = replayed([long(), short()], learned=(Finishing(), Rule(0.1, 1.0)))
    assert calls == [6]
    assert _rows(found, "long")["lean learned"].short == "short C"
    assert _rows(found, "long")["lean learned"].stopped == "learned"
    assert _rows(found, "short")["lean learned"].short == "short "


def test_the_oracle_finishes_at_once_where_the_evidence_is_never_complete() -> None:
    hopeless = trajectory("q", prefix("", DONE, "REVISE", 0.0, 0.0), prefix("R", END, "FINISH", 1.0, 0.5))
    assert _rows(replayed([hopeless]), "q")["oracle"].short == "short "


def test_rules_that_have_a_row_are_not_worked_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    fill(store, HashEmbedder())
    cases, rows = CaseSet("toy", (CASE,)), tmp_path / "rows.jsonl"
    chat = CachedChat(ScriptedChat([answers] * 20), tmp_path / "replies.jsonl")
    assert list(stopped(cases, parts(chat, store, Budget(revisions=0)), tmp_path, None)) == [CASE]
    before = Rows(rows).all()
    assert {row.system for row in before} == set(STOPPING) - {"lean learned"}
    with replying(0) as silent:
        list(stopped(cases, parts(silent, store, Budget(revisions=0)), tmp_path, None))
    assert Rows(rows).all() == before
