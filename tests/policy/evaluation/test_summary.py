"""Means, paired differences and tests from rows made up by hand."""

from __future__ import annotations

import pytest

from policy.evaluation.summary import Scope, Summary, multihop, summarise
from tests.policy.evaluation.made import HOTPOT, MODEL, MUSIQUE, row, rows

RESAMPLES = 200


def _scope(summary: Summary, name: str = HOTPOT) -> Scope:
    (found,) = (scope for scope in summary.scopes if scope.name == name)
    return found


def test_means_are_over_the_questions_that_a_measure_is_known_for() -> None:
    made = [row("q0", "crag", 1.0, recall=0.5), row("q1", "crag", 0.0), row("q2", "crag", 0.5, recall=1.0)]
    (standing,) = _scope(summarise(made, resamples=RESAMPLES)).systems
    assert standing.questions == 3
    assert standing.measures["f1"].estimate == pytest.approx(0.5)
    assert standing.measures["em"].estimate == pytest.approx(1 / 3)
    assert standing.measures["recall"].estimate == pytest.approx(0.75)
    assert standing.measures["recall"].questions == 2
    assert standing.measures["f1"].low <= 0.5 <= standing.measures["f1"].high


def test_lost_answers_are_counted_by_stage() -> None:
    made = [
        row("q0", "crag", 0.0, lost="plan"),
        row("q1", "crag", 0.0, lost="plan"),
        row("q2", "crag", 0.0, lost="reading"),
        row("q3", "crag", 1.0),
    ]
    (standing,) = _scope(summarise(made, resamples=RESAMPLES)).systems
    assert {stage: count for stage, count in standing.lost.items() if count} == {"plan": 2, "reading": 1}
    assert standing.lost["distil"] == 0


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
    assert pair.differences["f1"].estimate == pytest.approx(0.25)
    assert pair.differences["em"].estimate == pytest.approx(0.5)
    assert pair.differences["steps"].estimate == 0


def test_an_interval_of_a_constant_difference_has_no_width() -> None:
    made = [*rows("shallow", [0.1, 0.2, 0.6]), *rows("seed", [0.3, 0.4, 0.8], seconds=25)]
    pair = _scope(summarise(made, resamples=RESAMPLES)).pair("seed", "shallow")
    assert pair is not None
    gain = pair.differences["f1"]
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
    made = [
        *(row(f"q{i}", "seed", f1, abstained=float(f1 == 0)) for i, f1 in enumerate([1.0, 0.5, 0.0, 0.6])),
        *(
            row(f"q{i}", "shallow", f1, abstained=float(f1 == 0))
            for i, f1 in enumerate([0.0, 0.3, 1.0, 0.2])
        ),
    ]
    pair = _scope(summarise(made, resamples=RESAMPLES)).pair("seed", "shallow")
    assert pair is not None
    assert (pair.questions, pair.answered.questions) == (4, 2)
    assert pair.answered.estimate == pytest.approx(((0.5 - 0.3) + (0.6 - 0.2)) / 2)
    assert pair.differences["f1"].estimate == pytest.approx((1.0 + 0.2 - 1.0 + 0.4) / 4)


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
    assert [scope.name for scope in summary.scopes] == [
        "filings",
        HOTPOT,
        MUSIQUE,
        "multi-hop sets",
        "all sets",
    ]
    # q0 of one set is not q0 of another
    assert _scope(summary, "multi-hop sets").systems[0].questions == 4
    assert _scope(summary, "multi-hop sets").systems[0].measures["f1"].estimate == pytest.approx(0.25)
    assert _scope(summary, "all sets").systems[0].questions == 5
    assert summary.models == (MODEL,)


def test_one_set_is_not_taken_together_with_itself_nor_twice_with_others() -> None:
    alone = summarise(rows("shallow", [1.0]), resamples=RESAMPLES)
    assert [scope.name for scope in alone.scopes] == [HOTPOT]
    both = [*rows("shallow", [1.0]), *rows("shallow", [1.0], questions=MUSIQUE)]
    assert [scope.name for scope in summarise(both, resamples=RESAMPLES).scopes][2:] == ["all sets"]


def test_the_order_of_rows_changes_nothing() -> None:
    made = [*rows("shallow", [0.0, 0.3, 1.0]), *rows("seed", [0.5, 1.0, 0.2])]
    assert summarise(made, resamples=RESAMPLES) == summarise(reversed(made), resamples=RESAMPLES)


def test_no_rows_give_an_empty_summary() -> None:
    assert summarise([]).scopes == ()


def test_multi_hop_sets_are_known_by_their_names() -> None:
    assert multihop(["musique_dev", "filings", "hotpotqa_train"]) == ("musique_dev", "hotpotqa_train")
