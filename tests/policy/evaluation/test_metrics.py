"""Measures of an answer against hand-worked cases."""

from __future__ import annotations

import pytest

from policy.evaluation.answered import Answered, Cost
from policy.evaluation.cases import Case, Place
from policy.evaluation.metrics import CONDUCT, COST, EVIDENCE, QUALITY, TRACED, measured

A, B, C, D = (Place(name) for name in "ABCD")


def _case(*answers: str, gold: tuple[Place, ...] = ()) -> Case:
    return Case("q1", "Which one?", answers, gold)


def _said(short: str, text: str = "", **kept: object) -> tuple[Answered, str]:
    return Answered(text or short, abstained=False, **kept), short  # type: ignore[arg-type]


ABSTAINED = Answered("Not found in your documents.", abstained=True), ""


@pytest.mark.parametrize(
    ("short", "golds", "em", "f1"),
    [
        ("yes", ["yes"], 1, 1),
        ("Yes.", ["yes"], 1, 1),
        ("yes they are", ["yes"], 0, 0),  # HotpotQA's rule: a yes is right as a whole or not at all
        ("no", ["yes"], 0, 0),
        ("Joanne Rowling", ["J. K. Rowling", "Joanne Rowling"], 1, 1),
        ("Rowling", ["J. K. Rowling", "Joanne Rowling"], 0, 2 / 3),
        ("The Beatles!", ["Beatles"], 1, 1),
        ("a theatre", ["the theatre"], 1, 1),
        ("", ["Beatles"], 0, 0),
        ("...", ["Beatles"], 0, 0),
    ],
)
def test_a_short_answer_is_scored_as_the_official_scripts_do(
    short: str, golds: list[str], em: float, f1: float
) -> None:
    found = measured(_case(*golds), *_said(short))
    assert found["em"] == em
    assert found["f1"] == pytest.approx(f1)


def test_holds_is_of_the_whole_answer() -> None:
    found = measured(_case("1984"), *_said("the year", "It opened in 1984 [1]."))
    assert (found["em"], found["f1"], found["holds"]) == (0, 0, 1)


def test_an_abstention_is_wrong_where_there_is_an_answer() -> None:
    # Even though its words happen to hold the gold answer.
    found = measured(_case("documents"), *ABSTAINED)
    assert [found[name] for name in QUALITY] == [0, 0, 0]
    assert [found[name] for name in CONDUCT[1:]] == [1, 0, 1]


def test_an_abstention_is_right_where_there_is_none() -> None:
    found = measured(_case(), *ABSTAINED)
    assert [found[name] for name in QUALITY] == [1, 1, 1]
    assert [found[name] for name in CONDUCT[1:]] == [1, 1, 0]


@pytest.mark.parametrize("short", ["Berlin", ""])
def test_an_answer_is_wrong_where_there_is_none(short: str) -> None:
    found = measured(_case(), *_said(short))
    assert [found[name] for name in QUALITY] == [0, 0, 0]
    assert [found[name] for name in CONDUCT[1:]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("short", "text", "quality"),
    [
        ("$1,284.6 million", "It was $1,284.6 million [1].", (1, 1, 1)),
        # Without the refusal: F1 = 1/2, from "million" alone.
        ("$1,297.1 million", "It was $1,297.1 million [2].", (0, 0, 0)),
        ("$1,284.6 million", "It was $1,284.6 million [1], after 1297.1 at first [2].", (0, 0, 0)),
        ("1,297.1", "It was $1,284.6 million [1].", (0, 0, 0)),
        ("$1,284.6 million", "It was $1,284.6 million [1], not 11297.1 [2].", (1, 1, 1)),
        ("$1,284.6 million", "It was $1,284.6 million [1], not 297.1 [2].", (1, 1, 1)),
    ],
)
def test_an_answer_that_states_a_superseded_value_is_wrong(
    short: str, text: str, quality: tuple[float, float, float]
) -> None:
    case = Case("q1", "How much?", ("$1,284.6 million",), wrong=("1,297.1",))
    found = measured(case, *_said(short, text))
    assert tuple(found[name] for name in QUALITY) == quality


def test_an_abstention_states_no_wrong_value() -> None:
    unanswerable = Case("q1", "Which one?", (), wrong=("documents",))
    assert [measured(unanswerable, *ABSTAINED)[name] for name in QUALITY] == [1, 1, 1]


def test_evidence_held_and_cited_is_measured_against_the_gold_places() -> None:
    found = measured(_case("x", gold=(A, B, C)), *_said("x", held=(A, C, D), cited=(A,)))
    assert found["recall"] == pytest.approx(2 / 3)
    assert found["precision"] == pytest.approx(2 / 3)
    assert found["citation_recall"] == pytest.approx(1 / 3)
    assert found["citation_precision"] == 1


def test_a_page_is_covered_by_itself_and_a_document_by_any_of_its_pages() -> None:
    gold = (Place("10-K", 7), Place("letter"))
    held = (Place("10-K", 7), Place("10-K", 8), Place("10-K"), Place("letter", 1), Place("letter", 2))
    found = measured(_case("x", gold=gold), *_said("x", held=held))
    assert found["recall"] == 1  # two pages of the letter cover it once
    assert found["precision"] == pytest.approx(3 / 5)
    assert measured(_case("x", gold=gold[:1]), *_said("x", held=held[1:3]))["recall"] == 0


def test_what_cannot_be_known_is_left_out() -> None:
    without_gold = measured(_case("x"), *_said("x", held=(A,), cited=(A,)))
    assert not set(EVIDENCE) & set(without_gold)
    without_citations = measured(_case("x", gold=(A,)), *_said("x", held=(A,)))
    assert without_citations["citation_recall"] == 0
    assert "citation_precision" not in without_citations
    without_search = measured(_case("x", gold=(A,)), *_said("x"))
    assert without_search["recall"] == 0
    assert "precision" not in without_search
    assert not set(TRACED) & set(without_search)
    assert "flagged" not in without_search


@pytest.mark.parametrize(("flagged", "expected"), [(0, 0), (1, 1), (3, 1)])
def test_an_answer_with_a_flagged_sentence_is_flagged(flagged: int, expected: float) -> None:
    assert measured(_case("x"), *_said("x", sentences=3, flagged=flagged))["flagged"] == expected


def test_cost_and_traced_shares_are_passed_on() -> None:
    cost = Cost(steps=2, calls=5, evaluated=700, reused=300, generated=40, seconds=12.5)
    traced = {"reached": 1.0, "recalled": 0.5, "noted": 0.0}
    found = measured(_case("x"), *_said("x", cost=cost, traced=traced))
    assert [found[name] for name in COST] == [2, 5, 700, 300, 40, 12.5]
    assert all(isinstance(found[name], float) for name in COST)
    assert {name: found[name] for name in TRACED} == traced


RENT = Case(
    "r", "What is the rent?", ("1,200 €",), kind="changed", required=(r"1[,.]?200",), forbidden=("900",)
)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The rent is 1,200 € [1].", 1),
        ("THE RENT IS 1.200 EURO", 1),
        ("The rent is [1200].", 0),  # a citation mark is no figure
        ("The rent was 900 € and is 1,200 € [2].", 0),
        ("The rent is not said [1].", 0),
    ],
)
def test_an_answer_is_judged_by_all_patterns(text: str, right: float) -> None:
    found = measured(RENT, *_said("", text, sentences=1))
    assert (found["right"], found["right_changed"], found["em"]) == (right, right, right)
    assert (found["wrong"], found["wrong_supported"]) == (1 - right, 1 - right)
    assert "refused_rightly" not in found


def test_a_wrong_answer_that_is_flagged_is_not_shown_as_supported() -> None:
    found = measured(RENT, *_said("", "It is 900 €.", sentences=1, flagged=1))
    assert (found["wrong"], found["wrong_supported"]) == (1, 0)


def test_refusing_is_right_only_where_there_is_no_answer() -> None:
    unanswerable = Case("u", "Who owns the moon?", (), kind="unanswerable")
    assert measured(RENT, *ABSTAINED)["refused_wrongly"] == 1
    refused, answered = measured(unanswerable, *ABSTAINED), measured(unanswerable, *_said("", "Ann does."))
    assert (refused["refused_rightly"], refused["wrong"], refused["em"]) == (1, 0, 1)
    assert (answered["refused_rightly"], answered["wrong"], answered["em"]) == (0, 1, 0)
    assert "right" not in refused
