"""Means, paired differences and tests from rows made up by hand."""

from __future__ import annotations

import pytest

from policy.evaluation.summary import Scope, summarise
from tests.policy.evaluation.made import HOTPOT, MUSIQUE, row, rows

RESAMPLES = 200


def _scope(scopes: list[Scope], name: str = HOTPOT) -> Scope:
    (found,) = (scope for scope in scopes if scope.name == name)
    return found


def test_means_are_over_the_questions_that_a_measure_is_known_for() -> None:
    made = [row("q0", "crag", 1.0, recall=0.5), row("q1", "crag", 0.0), row("q2", "crag", 0.5, recall=1.0)]
    (standing,) = _scope(summarise(made, resamples=RESAMPLES)).systems
    assert standing.questions == 3
    assert standing.measures["right"].estimate == pytest.approx(0.5)
    assert standing.measures["recall"].estimate == pytest.approx(0.75)
    assert standing.measures["recall"].questions == 2
    assert standing.measures["right"].low <= 0.5 <= standing.measures["right"].high


def test_lost_answers_are_counted_by_stage() -> None:
    made = [
        row("q0", "crag", 0.0, lost="plan"),
        row("q1", "crag", 0.0, lost="plan"),
        row("q2", "crag", 0.0, lost="reading"),
        row("q3", "crag", 1.0),
    ]
    (standing,) = _scope(summarise(made, resamples=RESAMPLES)).systems
    assert standing.lost == {"plan": 2, "reading": 1}


def test_differences_are_paired_on_the_questions_that_both_have() -> None:
    made = [
        *rows("shallow", [0.0, 0.5, 1.0, 0.0]),
        row("q1", "lean learned", 1.0, steps=1, seconds=4, evaluated=50),
        row("q2", "lean learned", 1.0, steps=3, seconds=2, evaluated=0),
        row("q9", "lean learned", 0.0),
    ]
    pair = _scope(summarise(made, resamples=RESAMPLES)).pair("lean learned", "shallow")
    assert pair is not None
    assert pair.questions == 2
    assert pair.differences["right"].estimate == pytest.approx(0.25)
    assert pair.differences["steps"].estimate == 0


def test_an_interval_of_a_constant_difference_has_no_width() -> None:
    made = [*rows("shallow", [0.1, 0.2, 0.6]), *rows("seed", [0.3, 0.4, 0.8], seconds=25)]
    pair = _scope(summarise(made, resamples=RESAMPLES)).pair("seed", "shallow")
    assert pair is not None
    gain = pair.differences["right"]
    assert [gain.low, gain.estimate, gain.high] == pytest.approx([0.2, 0.2, 0.2])


def test_every_system_stands_against_every_baseline() -> None:
    systems = ["oracle", "shallow", "another", "seed"]
    made = [row("q", system, 1.0) for system in systems]
    scope = _scope(summarise(made, resamples=RESAMPLES))
    assert [one.system for one in scope.systems] == ["shallow", "seed", "another", "oracle"]
    assert [one.baseline for one in scope.against if one.system == "another"] == ["shallow", "seed"]
    assert scope.pair("seed", "search-and-answer") is None
    other = _scope(summarise(made, ["oracle"], RESAMPLES))
    assert [one.baseline for one in other.against if one.system == "another"] == ["oracle"]


def test_where_both_answer_leaves_out_what_either_abstained_on() -> None:
    scores = {"seed": [1.0, 0.5, 0.0, 0.6], "shallow": [0.0, 0.3, 1.0, 0.2]}
    made = [
        row(f"q{i}", system, score, abstained=float(score == 0))
        for system, each in scores.items()
        for i, score in enumerate(each)
    ]
    pair = _scope(summarise(made, resamples=RESAMPLES)).pair("seed", "shallow")
    assert pair is not None
    assert (pair.questions, pair.answered["right"].questions) == (4, 2)
    assert pair.answered["right"].estimate == pytest.approx(((0.5 - 0.3) + (0.6 - 0.2)) / 2)
    assert pair.differences["right"].estimate == pytest.approx((1.0 + 0.2 - 1.0 + 0.4) / 4)


def test_systems_without_a_common_question_are_not_compared() -> None:
    scope = _scope(summarise([row("q0", "shallow", 1.0), row("q1", "crag", 1.0)], resamples=RESAMPLES))
    assert scope.against == ()


def test_sets_are_taken_together_per_model() -> None:
    made = [
        *rows("shallow", [1.0, 0.0]),
        *rows("shallow", [0.0, 0.0], questions=MUSIQUE),
        *rows("shallow", [1.0], questions="filings"),
    ]
    summary = summarise(made, resamples=RESAMPLES)
    assert [scope.name for scope in summary] == ["filings", HOTPOT, MUSIQUE, "all sets"]
    pooled = _scope(summary, "all sets").systems[0]
    assert pooled.questions == 5  # q0 of one set is not q0 of another
    assert pooled.measures["right"].estimate == pytest.approx(0.4)


def test_one_set_is_not_pooled_with_itself() -> None:
    alone = summarise(rows("shallow", [1.0]), resamples=RESAMPLES)
    assert [scope.name for scope in alone] == [HOTPOT]


def test_the_order_of_rows_changes_nothing() -> None:
    made = [*rows("shallow", [0.0, 0.3, 1.0]), *rows("seed", [0.5, 1.0, 0.2])]
    assert summarise(made, resamples=RESAMPLES) == summarise(reversed(made), resamples=RESAMPLES)


def test_no_rows_give_an_empty_summary() -> None:
    assert summarise([]) == []
