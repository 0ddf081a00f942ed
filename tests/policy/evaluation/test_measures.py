"""Measures of an answer, and the stage that lost it, against cases worked by hand."""

from __future__ import annotations

import pytest

from policy.evaluation.measures import exact_match, f1, holds, lost, measured, share
from policy.evaluation.systems import Answered, Cost
from policy.questions import Case, Place

A, B, C, D = (Place(name) for name in "ABCD")
ABSTAINED = Answered("Not found in your documents.", abstained=True)
UNANSWERABLE = Case("u", "Who owns the moon?", ())
RENT = Case(
    "r", "What is the rent?", ("1,200 €",), kind="changed", required=(r"1[,.]?200",), forbidden=("900",)
)
REVENUE = Case("q1", "How much?", ("$1,284.6 million",), wrong=("1,297.1",))


def _case(*answers: str, gold: tuple[Place, ...] = ()) -> Case:
    return Case("q1", "Which one?", answers, gold)


def _said(text: str, **kept: object) -> Answered:
    return Answered(text, abstained=False, **kept)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("It was $1,284.6 million [1].", 1),
        ("It was $1,297.1 million [2].", 0),
        ("It was $1,284.6 million [1], after 1297.1 at first [2].", 0),
        ("It was $1,284.6 million [1], not 11297.1 [2].", 1),
        ("It was high.", 0),
    ],
)
def test_a_right_answer_states_a_gold_one_and_no_superseded_value(text: str, right: float) -> None:
    found = measured(REVENUE, _said(text))
    assert (found["right"], found["wrong"], found["abstained"]) == (right, 1 - right, 0)


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
    found = measured(RENT, _said(text, sentences=1))
    assert (found["right"], found["right_changed"]) == (right, right)
    assert (found["wrong"], found["wrong_supported"]) == (1 - right, 1 - right)
    assert "refused_rightly" not in found


def test_a_wrong_answer_that_is_flagged_is_not_shown_as_supported() -> None:
    said = _said("It is 900 €.", sentences=3, flagged=2, cost=Cost(steps=2, calls=5), first_words=1.5)
    found = measured(RENT, said)
    assert (found["wrong"], found["wrong_supported"], found["flagged"]) == (1, 0, 1)
    assert (found["steps"], found["calls"], found["first_words"]) == (2, 5, 1.5)


def test_refusing_is_right_only_where_there_is_no_answer() -> None:
    # Even though the words of the refusal happen to hold the gold answer.
    wrongly = measured(_case("documents"), ABSTAINED)
    assert (wrongly["right"], wrongly["refused_wrongly"], wrongly["abstained"]) == (0, 1, 1)
    refused, answered = measured(UNANSWERABLE, ABSTAINED), measured(UNANSWERABLE, _said("Ann does."))
    assert (refused["refused_rightly"], refused["wrong"]) == (1, 0)
    assert (answered["refused_rightly"], answered["wrong"]) == (0, 1)
    assert "right" not in refused


def test_evidence_in_the_prompt_and_cited_is_measured_against_the_gold_places() -> None:
    said = _said("x", in_prompt=(A, C, D), cited=(A,), recalled=(A, B, C), noted=(A,))
    found = measured(_case("x", gold=(A, B, C)), said)
    names = ("recall", "precision", "citation_recall", "citation_precision", "recalled", "noted")
    assert [found[name] for name in names] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1, 1, 1 / 3])


def test_a_page_is_covered_by_itself_and_a_document_by_any_of_its_pages() -> None:
    gold = (Place("10-K", 7), Place("letter"))
    in_prompt = (Place("10-K", 7), Place("10-K", 8), Place("10-K"), Place("letter", 1), Place("letter", 2))
    found = measured(_case("x", gold=gold), _said("x", in_prompt=in_prompt))
    assert found["recall"] == 1  # two pages of the letter cover it once
    assert found["precision"] == pytest.approx(3 / 5)
    assert share(gold[:1], in_prompt[1:3]) == 0


def test_what_cannot_be_known_is_left_out() -> None:
    evidence = {"recall", "precision", "citation_recall", "citation_precision", "recalled", "noted"}
    assert not evidence & measured(_case("x"), _said("x", in_prompt=(A,), cited=(A,))).keys()
    without_search = measured(_case("x", gold=(A,)), _said("x"))
    assert evidence & without_search.keys() == {"recall", "citation_recall"}
    assert not {"flagged", "first_words"} & without_search.keys()


@pytest.mark.parametrize(
    ("known", "stage"),
    [
        ({}, "reading"),  # without gold places nothing is known of the evidence
        ({"recall": 0.5}, "recall"),  # no run: what it holds is what its search brought
        ({"recall": 1.0}, "reading"),
        ({"recalled": 0.5, "recall": 0.5, "noted": 0.0}, "recall"),
        ({"recalled": 1.0, "recall": 0.5, "noted": 0.0}, "rerank"),
        ({"recalled": 1.0, "recall": 1.0, "noted": 0.5}, "distil"),
        ({"recalled": 1.0, "recall": 1.0, "noted": 1.0}, "reading"),
    ],
)
def test_the_first_stage_without_the_whole_evidence_lost_it(known: dict[str, float], stage: str) -> None:
    assert lost({"right": 0.0, **known}) == stage
    assert lost({"right": 1.0, **known}) == lost({"refused_rightly": 1.0, **known}) == ""


@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("The Beatles", ["Stones", "beatles"], 1.0),
        ("", [""], 1.0),
        ("Yes.", ["yes"], 1.0),
        ("yes, both", ["yes"], 0.0),
        ("AC/DC", ["ACDC"], 1.0),  # punctuation goes without a gap in its place
        ("The The", [""], 1.0),  # a band of articles: nothing is left of it, as in all the scripts
    ],
)
def test_exact_match(prediction: str, golds: list[str], expected: float) -> None:
    assert exact_match(prediction, golds) == expected


@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("The  U.S. Army's An-2!", ["us armys an2"], 1.0),
        ("red red", ["blue", "red"], 2 / 3),  # the best alias counts
        ("yes", ["no path through fire"], 0.0),
        ("path through fire", ["No Path Through Fire"], 6 / 7),  # within a name it is a word like others
        ("The The", ["the"], 1.0),  # MuSiQue's script; HotpotQA's gives 0
        ("red red red", ["red red"], 0.8),  # words count as often as both have them
        ("in 1984, on the 4th of July", ["July 4th, 1984"], 2 / 3),  # 6 words, 3 of them right
        ("", [], 0.0),
    ],
)
def test_f1(prediction: str, golds: list[str], expected: float) -> None:
    assert f1(prediction, golds) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "gold", "expected"),
    [
        ("Tolvang Ceramics; a fire; seven weeks.", "Tolvang Ceramics; fire; seven weeks", True),
        ("Revenue was $26,974 million.", "26974", True),
        ("It was 26.9.", "26.9", True),
        ("Nothing.", "", False),
        ("Ann's report.", "Ann", True),
        ("It took seven weeks in all.", "7 weeks; seven weeks", False),
        ("The U.S. Army.", "U.S.", True),
        ("总部在柏林的公司", "柏林", True),
        ("公司NVIDIA的总部", "NVIDIA", True),
        ("**No**, they are not.", "no", True),
        ("No-one was.", "no", False),
        ("Yes [1].", "yes", True),
    ],
)
def test_holds(text: str, gold: str, expected: bool) -> None:
    assert holds(text, [gold]) is expected
