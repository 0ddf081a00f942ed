"""Citations: resolved, completed and checked by code."""

from __future__ import annotations

from agent.citations import check, render
from tests.agent.evidence import evidence

_FIRE = evidence(1, "A fire halted production at the Brevnes plant of Tolvang Ceramics for seven weeks.")
_SALES = evidence(2, "Services | 236.4 | 214.9", title="Segment revenue", kind="table")


def test_a_mark_before_or_after_the_full_stop_belongs_to_its_sentence() -> None:
    for answer in (
        "A fire halted production [1]. Services earned 236.4 [2].",
        "A fire halted production. [1] Services earned 236.4. [2]",
    ):
        checked = check(answer, [_FIRE, _SALES])
        assert [(s["cites"], s["verdict"]) for s in checked] == [([1], "supported"), ([2], "supported")]
        assert render(checked) == "A fire halted production [1]. Services earned 236.4 [2]."


def test_several_marks() -> None:
    (sentence,) = check("A fire in Brevnes, while Services earned 236.4 [1, 2].", [_FIRE, _SALES])
    assert sentence["cites"] == [1, 2]


def test_a_mark_that_names_no_passage_is_replaced_by_the_passage_that_holds_the_sentence() -> None:
    (sentence,) = check("A fire halted production for seven weeks [9].", [_FIRE, _SALES])
    assert (sentence["cites"], sentence["verdict"]) == ([1], "supported")


def test_a_wrong_mark_is_corrected() -> None:
    (sentence,) = check("A fire halted production at the Brevnes plant [2].", [_FIRE, _SALES])
    assert sentence["cites"] == [1]


def test_a_sentence_without_a_mark_gets_one() -> None:
    (sentence,) = check("Services earned 236.4", [_FIRE, _SALES])
    assert sentence["cites"] == [2]


def test_an_invented_number_is_flagged() -> None:
    (sentence,) = check("A fire halted production at the Brevnes plant for 9 weeks [1].", [_FIRE, _SALES])
    assert sentence["verdict"] == "not"
    assert "not supported" in render([sentence])


def test_an_invented_sentence_is_flagged() -> None:
    (sentence,) = check("Aliens landed near Oslo yesterday [1].", [_FIRE, _SALES])
    assert sentence["verdict"] == "not"


def test_without_evidence_everything_is_flagged() -> None:
    (sentence,) = check("A fire halted production [1].", [])
    assert (sentence["cites"], sentence["verdict"]) == ([], "not")


def test_nothing_gives_nothing() -> None:
    assert check("", [_FIRE]) == []
    assert check(" [1]. ", [_FIRE]) == []
