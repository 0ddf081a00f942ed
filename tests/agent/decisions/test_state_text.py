"""The policy state as text and as numbers: bounded, in one order, whatever the state."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.decisions.decider import PolicyState
from agent.decisions.features import MOST_TOKENS, features, state_text
from agent.state import ACTIONS
from models.token_estimate import at_most
from tests.agent.made import observed

_TEXT, _UNIT, _COUNT = st.text(max_size=400), st.floats(0, 1), st.integers(0, 6)
_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "str": _TEXT,
    "int": _COUNT,
    "float": _UNIT,
    "bool": st.booleans(),
    "list[str]": st.lists(_TEXT, max_size=5),
    "list[float]": st.lists(_UNIT, max_size=5),
}
_FINDING = {"question": _TEXT, "answer": _TEXT, "found": st.booleans()}
_FINDING |= {"relevance": _UNIT, "span": _UNIT, "answers": _UNIT}
_PASSAGE = {"title": _TEXT, "excerpt": _TEXT, "step": st.integers(1, 6), "relevance": _UNIT}
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **{
        one.name: _KINDS[str(one.type)] for one in fields(PolicyState) if one.compare and one.type in _KINDS
    },
    "last_action": st.sampled_from(["", *ACTIONS]),
    "grade": st.sampled_from(["", "correct", "ambiguous", "incorrect"]),
    "look": st.fixed_dictionaries({"answer": _TEXT, "span": _UNIT, "score": _UNIT}),
    "findings": st.lists(st.fixed_dictionaries(_FINDING), max_size=5),
    "evidence": st.lists(st.fixed_dictionaries(_PASSAGE), max_size=8),
}
STATES = st.builds(PolicyState, **_FIELDS)
NAMES = list(features(observed()))


@given(STATES)
@settings(max_examples=40)
def test_any_state_is_bounded_and_encoded_after_it_was_stored_as_before(state: PolicyState) -> None:
    assert at_most(state_text(state)) <= MOST_TOKENS + 8  # line breaks
    made = features(state)
    assert list(made) == NAMES
    assert all(math.isfinite(value) for value in made.values())
    again = PolicyState(**json.loads(json.dumps(state.to_json())))
    assert (state_text(again), features(again)) == (state_text(state), made)


def test_the_question_comes_first_and_the_strongest_evidence_before_the_weak() -> None:
    strong = {"title": "Strong", "excerpt": "Anna Ode painted it.", "step": 2, "relevance": 0.9}
    state = observed(step=2, steps_left=4, plan_done=2, evidence=[*observed().evidence, strong])
    assert state_text(state).splitlines() == [
        "question: Who painted it?",
        "step 2, 4 left, 2 revisions left; plan 2 of 3",
        "open: Where is #1?",
        "last start: painter; 1 new, 1 known; correct 0.91, 0.20; 0 corrections",
        "found 0.00: Anna Ode",
        "0.90 Strong: Anna Ode painted it.",
        "0.10 Weak: It may be.",
    ]
    made = features(state)
    assert (made["held"], made["helping"], made["best"]) == (2, 1, 0.91)
    assert made["open_references"] == 1


def test_what_the_reader_says_of_the_whole_question_and_of_its_look_ups_is_seen() -> None:
    look = {"answer": "Anna Ode", "span": 0.7, "score": 0.8}
    findings = [
        {"question": "Who?", "answer": "Ode", "found": True, "relevance": 0.9, "span": 0.6, "answers": 0.4},
        {"question": "What?", "answer": "", "found": False, "relevance": 0.1, "span": 0.1, "answers": 0.0},
    ]
    made = features(
        observed(look=look, findings=findings, open_questions=["Where is #2?", "When?"], known=[0.0, 0.8])
    )
    assert (made["known_least"], made["known_most"]) == (0.0, 0.8)
    assert (made["look_span"], made["look_score"], made["look_agrees"]) == (0.7, 0.8, 0.5)
    assert (made["span_last"], made["span_weakest"], made["answers_best"]) == (0.1, 0.1, 0.4)
    assert made["stuck"] == 1
    assert "look 0.70: Anna Ode" in state_text(observed(look=look))


def test_a_state_of_the_version_before_is_read_with_nothing_known_of_the_reader() -> None:
    stored = observed().to_json()
    del stored["look"]
    made = features(PolicyState(**stored))
    assert (made["look_span"], made["answers_best"], made["best"]) == (0.0, 0.0, 0.91)


def test_passages_that_name_each_other_are_linked() -> None:
    held = [
        {"title": "Hello Love (song)", "excerpt": "A single by Hank Snow.", "step": 1, "relevance": 0.8},
        {"title": "Hank Snow", "excerpt": "A singer from Nova Scotia.", "step": 2, "relevance": 0.6},
        {"title": "Brisbane", "excerpt": "A city.", "step": 2, "relevance": 0.1},
    ]
    made = features(observed(question="Where was the singer of Hello Love born?", step=2, evidence=held))
    assert (made["links"], made["link_strength"], made["last_linked"]) == (1, 0.6, 1)
    assert made["asked_titles"] == 1
