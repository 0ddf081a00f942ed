"""Where wrong answers were lost, on hand-made measures."""

from __future__ import annotations

import pytest

from policy.evaluation.answered import Answered
from policy.evaluation.cases import Case, Place
from policy.evaluation.metrics import STAGES, Measures, lost, measured, right

WRONG = {"em": 0.0, "f1": 0.2, "holds": 0.0}
RIGHT = {"em": 1.0, "f1": 1.0, "holds": 1.0}
ALL = {"reached": 1.0, "recalled": 1.0, "recall": 1.0, "noted": 1.0}


@pytest.mark.parametrize(
    ("em", "f1", "holds", "expected"),
    [
        (1, 1, 0, True),
        (1, 0, 0, True),  # "The The" in HotpotQA's script
        (0, 0.5, 0, True),
        (0, 0.49, 0, False),
        (0, 0.2, 1, True),
        (0, 0, 1, False),
        (0, 0, 0, False),
    ],
)
def test_right(em: float, f1: float, holds: float, expected: bool) -> None:
    assert right({"em": em, "f1": f1, "holds": holds}) is expected


def test_what_states_a_superseded_value_is_not_right_by_half() -> None:
    case = Case("q", "How much?", ("$1,284.6 million",), wrong=("1,297.1",))
    stated = Answered("It was $1,297.1 million [2].", abstained=False)
    measures = measured(case, stated, "$1,297.1 million")
    assert not right(measures)
    assert lost({**measures, **ALL}) == "reading"


def test_right_without_a_whole_answer() -> None:
    assert not right({"em": 0.0, "f1": 0.0})


@pytest.mark.parametrize(
    ("traced", "stage"),
    [
        ({}, "reading"),
        ({"reached": 0.5}, "plan"),
        ({"reached": 0.5, "recalled": 0.0, "recall": 0.0, "noted": 0.0}, "plan"),
        ({"recalled": 0.5, "recall": 0.5, "noted": 0.0}, "recall"),
        ({"recall": 0.5, "noted": 0.0}, "rerank"),
        ({"noted": 0.5}, "distil"),
    ],
)
def test_the_first_stage_without_the_whole_evidence_lost_it(traced: Measures, stage: str) -> None:
    assert lost({**WRONG, **ALL, **traced}) == stage


@pytest.mark.parametrize(
    ("known", "stage"),
    [
        ({}, "reading"),  # without gold places nothing is known of the evidence
        ({"recall": 0.5}, "recall"),  # neither plan nor reranking: what it holds is what its search brought
        ({"recall": 1.0}, "reading"),
        ({"recalled": 0.5, "recall": 0.5}, "recall"),
        ({"recalled": 1.0, "recall": 0.5}, "rerank"),
        ({"reached": 1.0, "recalled": 1.0, "recall": 1.0}, "reading"),
    ],
)
def test_stages_that_a_system_has_not_are_passed_over(known: Measures, stage: str) -> None:
    assert lost({**WRONG, **known}) == stage


def test_a_right_answer_is_not_lost_whatever_else() -> None:
    assert lost({**RIGHT, "recall": 0.0}, earlier=[WRONG], later=[RIGHT]) == ""


def test_other_stops_of_the_trajectory_come_before_the_evidence() -> None:
    missing = {**WRONG, "reached": 0.0}
    assert lost(missing, earlier=[WRONG, RIGHT], later=[RIGHT]) == "stopped late"
    assert lost(missing, earlier=[WRONG], later=[WRONG, RIGHT]) == "stopped early"
    assert lost(missing, earlier=[WRONG], later=[WRONG]) == "plan"


def test_an_answer_where_there_is_none_is_lost_in_reading() -> None:
    held = Answered("Berlin", abstained=False, held=(Place("A"),))
    assert lost(measured(Case("q", "Where?", ()), held, "Berlin")) == "reading"


def test_a_wrong_abstention_with_everything_held_is_lost_in_reading_unless_nothing_was_noted() -> None:
    case = Case("q", "Where?", ("Berlin",), (Place("A"),))
    held = Answered("Not found.", abstained=True, held=(Place("A"),))
    assert lost(measured(case, held, "")) == "reading"
    assert lost({**measured(case, held, ""), "noted": 0.0}) == "distil"


def test_every_stage_has_a_name_of_its_own() -> None:
    assert len(set(STAGES)) == len(STAGES)
