"""Each stopping rule's row is that of the prefix in which it finishes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from policy.evaluation.judges import Judgement, digest
from policy.rule import Rule
from policy.scorers import Scores
from policy.systems.kept import Trajectory, tree
from policy.systems.replaying import Replayed, replayed
from policy.systems.rows import Row
from policy.trees import Seen
from tests.policy.systems.trajectories import DONE, END, GO, long, prefix, short, trajectory


def _rows(found: Replayed, question: str) -> dict[str, Row]:
    return {row.system: row for row in found.rows if row.question == question}


def _judgement(of: Trajectory, path: str, finish: float, revise: float, ms: float = 500.0) -> Judgement:
    known = tree(of)
    said = (1 - finish - revise, revise, finish)
    return Judgement(known.question, path, digest(known.nodes[path]), of.model, said, ms)


def test_every_rule_has_its_row() -> None:
    found = replayed([long(), short()])
    assert found.left == {}
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
    (row,) = {r.lost for r in replayed([trajectory("q", begun, prefix("C", END, "FINISH", 0.0, 0.5))]).rows}
    assert row == "recall"


def test_the_judge_pays_for_its_decisions() -> None:
    judged = long()
    asked = [_judgement(judged, "", 0.2, 0.1, 400.0), _judgement(judged, "C", 0.6, 0.1, 700.0)]
    unused = [_judgement(judged, "CC", 0.6, 0.1), _judgement(judged, "CR", 0.6, 0.1)]
    row = _rows(replayed([judged], [*asked, *unused]), "long")["lean judge"]
    assert (row.short, row.stopped) == ("short C", "llm")
    at = judged.prefixes["C"].measures
    assert row.measures["calls"] == at["calls"] + 2
    assert row.measures["seconds"] == pytest.approx(at["seconds"] + 1.1)
    assert row.measures["evaluated"] == at["evaluated"]


def test_the_judge_is_asked_of_its_own_model_and_only_where_it_was_asked() -> None:
    of_small = [_judgement(long(), "", 0.9, 0.05)]
    found = replayed([long(), long(model="large"), long("other"), short(), short(model="large")], of_small)
    judged = [(row.question, row.model) for row in found.rows if row.system == "lean judge"]
    # Where there is nothing to choose nobody has to be asked.
    assert judged == [("long", "small"), ("short", "small")]
    assert found.left == {}


def test_a_walk_that_leaves_what_is_known_is_counted() -> None:
    judged = long()
    found = replayed([judged], [_judgement(judged, "", 0.1, 0.8)])
    assert found.left == {"lean judge": 1}
    assert "lean judge" not in _rows(found, "long")
    leaving = trajectory("q", prefix("", GO, "REVISE", 0.0, 0.5), prefix("C", END, "FINISH", 1.0, 1.0))
    assert replayed([leaving]).left == {"lean rules": 1}


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


def test_nothing_gives_nothing() -> None:
    assert replayed([]) == Replayed([], [], {})
