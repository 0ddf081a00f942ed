"""The rules, the validity mask, and the judge's probabilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.budget import Budget
from agent.decisions.decider import PolicyState, policy_state, valid_actions
from agent.decisions.judges import ModelJudge, Rules
from agent.session import Session
from agent.state import Action, Note, PlanStep, new_state
from tests.agent.made import candidate, evidence
from tests.scripted import ScriptedChat

_STATE = PolicyState(
    question="Why?",
    step=1,
    steps_left=5,
    revisions_left=2,
    tokens_left=1.0,
    plan_done=1,
    open_questions=["Where is #1?"],
    last_action="",
    query="q",
    fresh=2,
    again=0,
    barren=0,
    top_score=0.5,
    scores=[0.8],
    grade="correct",
    corrections=0,
    findings=[{"question": "Who?", "answer": "Tolvang", "found": True}],
    missing=[],
    evidence=[{"title": "T", "excerpt": "E"}],
)
_LOST = [{"question": "Who?", "answer": "", "found": False}]


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({}, "CONTINUE"),
        ({"open_questions": []}, "FINISH"),
        ({"findings": _LOST}, "REVISE"),  # the open step needs what was not found
        ({"findings": _LOST, "open_questions": ["When?"]}, "CONTINUE"),  # this one does not
        ({"findings": _LOST, "missing": ["Who?"], "open_questions": []}, "REVISE"),
        ({"findings": _LOST, "missing": [], "open_questions": []}, "FINISH"),  # made good since
        ({"missing": ["Who?"], "open_questions": [], "last_action": "REVISE"}, "FINISH"),
        ({"missing": ["Who?"], "open_questions": [], "revisions_left": 0}, "FINISH"),
    ],
)
def test_rules(changes: dict[str, Any], action: Action) -> None:
    state = replace(_STATE, **changes)
    decision = Rules().decide(state, valid_actions(state))
    assert decision.action == action
    assert decision.probabilities[action] == 1.0
    assert decision.justification


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({}, ("CONTINUE", "REVISE", "FINISH")),
        ({"open_questions": []}, ("REVISE", "FINISH")),
        ({"evidence": []}, ("CONTINUE",)),  # nothing held: neither an answer nor a revision can help
        ({"evidence": [], "open_questions": []}, ("FINISH",)),
        ({"steps_left": 0}, ("FINISH",)),
        ({"steps_left": 0, "evidence": []}, ("FINISH",)),
        ({"revisions_left": 0}, ("CONTINUE", "FINISH")),
    ],
)
def test_the_mask(changes: dict[str, Any], valid: tuple[Action, ...]) -> None:
    assert valid_actions(replace(_STATE, **changes)) == valid


def test_the_judges_probabilities_are_renormalised_to_what_is_valid() -> None:
    with ScriptedChat([{"A": 0.6, "B": 0.1, "C": 0.3}]) as chat:
        judge = ModelJudge(Session(chat, Budget(), lambda _event: None), explain=False)
        decision = judge.decide(_STATE, ("REVISE", "FINISH"))
    assert decision.action == "FINISH"
    assert decision.probabilities == pytest.approx({"CONTINUE": 0.0, "REVISE": 0.25, "FINISH": 0.75})


def test_the_state_is_made_from_the_run_alone() -> None:
    state = new_state("Why?")
    state["plan"] = [PlanStep(question=q, reason="", tool="", keywords="", section="") for q in ("a", "b")]
    state["position"] = 0
    state["step"] = 1
    state["candidates"] = [candidate(101, "x"), candidate(102, "y")]
    state["evidence"] = [evidence(1, "x"), evidence(2, "old")]
    state["fresh"] = [1]
    state["again"] = [2]
    state["notes"] = [
        Note(step=1, question="a", sentence="s", answer="A", cites=[1], found=True, revision=0)
    ]
    seen = policy_state(state, Budget(steps=3, revisions=1, tokens=100), 50)
    assert (seen.step, seen.steps_left, seen.revisions_left, seen.tokens_left) == (1, 2, 1, 0.5)
    assert (seen.fresh, seen.again, seen.open_questions) == (1, 1, ["b"])
    assert seen.findings == [{"question": "a", "answer": "A", "found": True, "relevance": 0.0}]
    assert "notebook" not in seen.to_json()
