"""The learned source: one score a decision, the rule's action, and a reason a person understands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.decisions.decider import valid_actions
from agent.decisions.features import features, state_text
from agent.state import ACTIONS, Action
from policy.decisions import Seen
from policy.serving.folder import BadPolicy
from policy.serving.learned import Served, active_policy, decide, reason
from policy.serving.registry import Registry
from policy.serving.scorers import Rule, Scores
from tests.policy.made import Preferring, policy, state

RULE = Rule(margin=0.05, temperature=0.1)
ALL: tuple[Action, ...] = ACTIONS
pytestmark = pytest.mark.usefixtures("stand_in")
NAME = "forest-20261121-203000"
LOST = {"question": "What halted #1?", "answer": "", "found": False, "relevance": 0.1}


def test_it_leaves_the_default_schedule_past_the_margin_only() -> None:
    for advantage, action in ((0.049, "CONTINUE"), (0.05, "CONTINUE"), (0.051, "FINISH")):
        decision = decide(Preferring("FINISH", advantage), RULE, state(), ALL)
        assert (decision.action, decision.source, decision.behaviour_probability) == (action, "learned", 1)
        assert max(decision.probabilities, key=lambda name: decision.probabilities[name]) == action


@given(
    preferred=st.sampled_from(ACTIONS),
    advantage=st.floats(-2, 2),
    valid=st.sets(st.sampled_from(ACTIONS), min_size=1),
)
def test_it_never_does_what_is_not_valid(preferred: Action, advantage: float, valid: set[Action]) -> None:
    mask = tuple(action for action in ACTIONS if action in valid)
    decision = decide(Preferring(preferred, advantage), RULE, state(), mask)
    assert decision.action in mask
    assert all(decision.probabilities.get(action, 0) == 0 for action in ACTIONS if action not in mask)
    assert sum(decision.probabilities.values()) == pytest.approx(1.0)


def test_the_scorer_is_given_what_is_stored() -> None:
    """The text and the rounded features are those of the decision's row."""
    given_to: list[Seen] = []

    class Remembering(Preferring):
        def score(self, states: Sequence[Seen]) -> Scores:
            given_to.extend(states)
            return super().score(states)

    now = state()
    decide(Remembering(), RULE, now, ("CONTINUE", "FINISH"))
    (shown,) = given_to
    assert shown.text == state_text(now)
    assert dict(shown.features) == {name: round(value, 4) for name, value in features(now).items()}
    assert shown.valid == ("CONTINUE", "FINISH")


@pytest.mark.parametrize("broken", ["advantages", "sufficiency"])
def test_scores_that_are_no_numbers_are_refused(broken: str) -> None:
    class Broken(Preferring):
        def score(self, states: Sequence[Seen]) -> Scores:
            scores = super().score(states)
            getattr(scores, broken)[..., -1] = np.nan
            return scores

    with pytest.raises(BadPolicy, match="not numbers"):
        decide(Broken(), RULE, state(), ALL)


@pytest.mark.parametrize(
    ("changes", "action", "said"),
    [
        (
            {"findings": 2 * state().findings, "open_questions": ["Who did it?"], "fresh": 0, "barren": 1},
            "FINISH",
            "two of three sub-questions answered, the last search brought nothing new; 84% sure that the "
            "evidence is complete, so the rest of the plan is skipped",
        ),
        (
            {"findings": [LOST], "missing": ["What halted #1?"], "fresh": 1, "scores": [0.1]},
            "REVISE",
            "none of three sub-questions answered, found no answer to “What halted #1?”, the last search "
            "brought one new passage, none that clearly helps; 84% sure that the evidence is complete, so "
            "it changes the plan instead of following it",
        ),
        ({"open_questions": []}, "FINISH", "the one sub-question is answered, the last search brought two"),
        (
            {"open_questions": [], "findings": [LOST], "missing": ["What halted #1?"], "fresh": 0},
            "REVISE",
            "the one sub-question is unanswered, found no answer to “What halted #1?”, the last search "
            "brought nothing new; 84% sure that the evidence is complete, so it plans another search "
            "before it answers",
        ),
    ],
)
def test_the_reason_is_in_plain_words(changes: dict[str, Any], action: Action, said: str) -> None:
    now = state(**changes)
    assert said in reason(now, valid_actions(now), action, 0.84)


def test_a_policy_is_read_at_its_first_decision_and_once_also_if_that_fails(tmp_path: Path) -> None:
    served, early = Served(tmp_path / NAME), Served(tmp_path / NAME)
    assert served.name == NAME
    with pytest.raises(BadPolicy, match="There is no policy in"):
        early.decide(state(), ALL)
    folder = policy(tmp_path)
    assert served.decide(state(), ALL).action == "FINISH"
    shutil.rmtree(folder)
    assert served.decide(state(), ALL).action == "FINISH"
    policy(tmp_path)
    with pytest.raises(BadPolicy, match="There is no policy in"):
        early.decide(state(), ALL)


def test_the_active_one_is_served(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "own", tmp_path / "box")
    assert active_policy(registry) is None
    policy(tmp_path / "box")
    policy(tmp_path / "own", "value-1")

    def served() -> tuple[str, str]:
        found = active_policy(registry)
        assert found is not None
        return found.name, found.warning.partition(" (")[0]

    assert served() == (NAME, "")
    registry.use("value-1")
    assert served() == ("value-1", "")
    (tmp_path / "own" / "active.json").write_text("{")
    assert served() == (NAME, f"{tmp_path / 'own' / 'active.json'} cannot be read")


def test_a_forest_decides_without_the_learning_libraries(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from policy.serving import folder
from policy.serving.learned import Served
from tests.policy import made
folder.read_scorer = made.load
made.policy(Path({str(tmp_path)!r}))
served = Served(Path({str(tmp_path)!r}) / {NAME!r})
served.decide(made.state(), ("CONTINUE", "FINISH"))
heavy = {{"torch", "sklearn", "transformers", "pandas", "langgraph", "datasets", "peft", "trl"}}
print(sorted(heavy & set(sys.modules)))
"""
    command, root = [sys.executable, "-c", script], Path(__file__).parents[3]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
