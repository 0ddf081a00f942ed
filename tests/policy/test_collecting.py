"""A person's questions are worked through to the end, and answered at every state when asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from agent.budget import Budget
from agent.state import TRIES
from models.protocols import Message, Reader
from policy.collecting import collect, exploration
from policy.decisions import INDEX, load_trees, values
from policy.evaluation.systems import Parts
from policy.questions import Case, CaseSet
from tests.agent.conftest import UnsureReader
from tests.policy.evaluation.working import AGAIN, CASE, STEPS, WRITTEN
from tests.scripted import HashEmbedder, Scripted, ScriptedChat, WordReader
from traces.collected import Collected
from traces.decisions import count_decisions
from traces.runs import Runs
from traces.store import Store

ROUTE: Scripted = {"route": "deep"}
PLAN: Scripted = {"steps": STEPS}
READ: Scripted = "Tolvang Ceramics"
NO_REVISION = Budget(revisions=0)


@pytest.fixture
def template(library: Path) -> Path:
    return library


def _collect(
    store: Store,
    replies: list[Scripted],
    case: Case = CASE,
    *,
    answers: bool = False,
    budget: Budget = NO_REVISION,
    reader: Reader | None = None,
) -> None:
    with ScriptedChat(replies) as chat:
        parts = Parts(chat, HashEmbedder(), reader or UnsureReader(), store, budget=budget)
        events = collect(CaseSet("own", (case,)), parts, answers=answers, epsilon=0.0)
        assert list(events)[-1].failed == ()


@pytest.mark.parametrize(
    ("case", "answers", "source", "first"),
    [
        (CASE, True, "answer", 1.0),
        (CASE, False, "answer", None),  # only the last state is answered
        (Case("1", CASE.question, ()), True, "verifier", 1.0),  # nobody knows the answer
    ],
)
def test_states_are_answered_and_scored(
    store: Store, case: Case, answers: bool, source: str, first: float | None
) -> None:
    _collect(store, [ROUTE, PLAN, READ, WRITTEN, *([WRITTEN] if answers else [])], case, answers=answers)
    (tree,) = load_trees(store).trees
    assert sorted(tree.nodes) == ["", "C"]
    assert {node.source for node in tree.nodes.values() if node.quality is not None} == {source}
    assert (tree.nodes[""].quality, tree.nodes["C"].quality) == (first, 1.0)
    assert Collected(store).held("own") == {"1"}
    assert Runs(store).recent() == []  # nobody asked it
    assert Runs(store).search() == []


def test_a_budget_that_is_used_up_ends_the_question(store: Store) -> None:
    _collect(store, [ROUTE, PLAN, WRITTEN], answers=True, budget=Budget(steps=1))
    (tree,) = load_trees(store).trees
    assert {path: node.valid for path, node in tree.nodes.items()} == {"": ("FINISH",)}


def test_a_question_answered_at_its_end_is_worked_through_anew_where_all_are_wanted(
    store: Store,
) -> None:
    _collect(store, [ROUTE, PLAN, READ, WRITTEN])
    _collect(store, [ROUTE, PLAN, READ, WRITTEN, WRITTEN], answers=True)
    (tree,) = load_trees(store).trees
    assert tree.nodes[""].quality == 1.0
    _collect(store, [], answers=True)
    _collect(store, [])


def test_a_question_of_one_look_up_has_nothing_to_decide(store: Store) -> None:
    _collect(store, [{"route": "single"}, {"steps": STEPS[:1]}], answers=True)
    assert load_trees(store).trees == []
    assert Collected(store).held("own", at_every_state=True) == {"1"}


def test_only_revising_is_explored() -> None:
    drawn = exploration(("CONTINUE", "REVISE", "FINISH"), 0.2)
    assert drawn == pytest.approx({"CONTINUE": 0.8, "REVISE": 0.2, "FINISH": 0.0})
    assert exploration(("REVISE", "FINISH"), 0.2)["REVISE"] == 0.2
    assert [exploration((only,), 0.2)[only] for only in ("REVISE", "FINISH")] == [1.0, 1.0]


TWO_APART: Scripted = {"steps": [STEPS[0], AGAIN]}
"""A plan of two look-ups that need nothing of each other; `WordReader` alone finds an answer to neither."""


def test_a_step_that_found_nothing_is_tried_further_on_branches_of_its_own(store: Store) -> None:
    def says(messages: Sequence[Message]) -> str:
        return WRITTEN if CASE.question in messages[-1].content else "NOT FOUND"

    # An answer at each of eight states, and the two steps that ask the model.
    _collect(store, [ROUTE, TWO_APART, *[says] * 10], answers=True, reader=WordReader())
    (tree,) = load_trees(store).trees
    assert sorted(tree.nodes) == ["", "A", "AC", "C", "CA", "CW", "W", "WC"]
    assert tree.nodes[""].valid == ("CONTINUE", "FINISH", "WORDS", "ASK")
    assert tree.nodes["C"].valid == ("FINISH", "WORDS", "ASK")
    assert tree.nodes["A"].valid == ("CONTINUE", "FINISH"), "not below another"
    worth = values(tree, 0.1, {})
    assert [worth["C"][INDEX[one]] for one in TRIES] == pytest.approx([np.nan, 0.9, 0.9], nan_ok=True)
    rows = Runs(store).decisions(tree.run)
    assert {row.behaviour_probability for row in rows} == {1.0}, "a further try is never drawn"
    assert {row.path: row.action for row in rows}[""] == "CONTINUE"
    assert count_decisions(store).transitions == {"CONTINUE": 3, "FINISH": 8, "ASK": 2, "WORDS": 2}


def test_without_an_answer_at_every_state_nothing_is_tried_further(store: Store) -> None:
    _collect(store, [ROUTE, TWO_APART, WRITTEN], reader=WordReader())
    (tree,) = load_trees(store).trees
    assert [node.valid for node in tree.nodes.values()] == [("CONTINUE", "FINISH"), ("FINISH",)]
