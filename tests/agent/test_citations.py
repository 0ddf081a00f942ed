"""Citations: resolved, completed and checked by code."""

from __future__ import annotations

import pytest

from agent.citations import check, quotes, render
from agent.state import Claim
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


def test_a_much_better_passage_takes_the_place_of_a_mediocre_one() -> None:
    other = evidence(3, "A fire at another plant halted production of bearings.")
    (sentence,) = check(
        "A fire halted production at the Brevnes plant for seven weeks [3].", [other, _FIRE]
    )
    assert sentence["cites"] == [1]


def test_what_is_only_partly_supported_says_so() -> None:
    (claim,) = check("A fire halted production [1].", [_FIRE])
    assert render([Claim({**claim, "verdict": "partly"})]) == (
        "A fire halted production (only partly supported) [1]."
    )


def test_headings_and_lists_keep_their_lines() -> None:
    draft = (
        "## What happened\n\nA fire halted production [1].\n\n"
        "- Services earned 236.4 [2].\n[2]\n- For seven weeks"
    )
    claims = check(draft, [_FIRE, _SALES])
    assert [claim["text"] for claim in claims] == [
        "A fire halted production.",
        "Services earned 236.4.",
        "For seven weeks",
    ]
    assert render(claims, draft) == (
        "## What happened\n\nA fire halted production [1].\n"
        "- Services earned 236.4 [2].\n- For seven weeks [1]"
    )


def test_a_sentence_that_is_repeated_is_one_with_the_citations_of_all() -> None:
    other = evidence(3, "Because of a fire production at the Brevnes plant was halted for seven weeks.")
    draft = (
        "According to [1], a fire halted production at the Brevnes plant. Services earned 236.4 [2]. "
        "A fire halted production at the **Brevnes plant** [3]. A fire halted production at the Brevnes "
        "Plant!"
    )
    claims = check(draft, [_FIRE, _SALES, other])
    assert [(claim["cites"], claim["verdict"]) for claim in claims] == [
        ([1, 3], "supported"),
        ([2], "supported"),
    ]
    assert render(claims, draft) == (
        "A fire halted production at the Brevnes plant [1][3]. Services earned 236.4 [2]."
    )


def test_a_repeat_that_cites_wrongly_brings_no_citation() -> None:
    (claim,) = check("A fire halted production [1]. A fire halted production [2].", [_FIRE, _SALES])
    assert claim["cites"] == [1]


def test_a_line_of_repeats_goes_and_each_section_says_what_it_has_to_say() -> None:
    draft = (
        "## In short\n\nA fire halted production [1].\n- Services earned 236.4.\n- Services earned 236.4\n"
        "[2]\n\n## What halted production\n\nA fire halted production [1].\nA fire halted production [1]."
    )
    claims = check(draft, [_FIRE, _SALES])
    assert len(claims) == 3
    assert render(claims, draft) == (
        "## In short\n\nA fire halted production [1].\n- Services earned 236.4 [2].\n\n"
        "## What halted production\n\nA fire halted production [1]."
    )


def test_a_sentence_that_says_what_its_heading_says_stays() -> None:
    draft = "## A fire halted production\n\nA fire halted production [1]."
    assert render(check(draft, [_FIRE]), draft) == draft


def test_what_differs_in_a_sign_or_a_figure_is_no_repeat() -> None:
    draft = "Margins moved by 5%. Margins moved by -5%. Margins moved by 0.5%. It cost $5. It cost €5."
    assert len(check(draft, [_FIRE])) == 5


def test_quotes_are_the_sentence_or_row_that_says_it() -> None:
    held = [
        evidence(1, "It was cold. A fire halted production at Brevnes."),
        evidence(2, "In millions | 2024\nServices | 236.4\nTotal | 990.0", kind="table"),
    ]
    claims = check("A fire halted production [1]. Services earned 236.4 [2].", held)
    assert quotes(claims, held) == {
        "1": "A fire halted production at Brevnes.",
        "2": "Services | 236.4",
    }
    assert quotes([], held) == {}


def test_a_draft_that_cites_first() -> None:
    other = evidence(3, "Nobody was hurt. Sales rose by 9%.")
    draft = (
        "[1] A fire halted production. [2] Services earned 236.4.\n[3] Nobody was hurt. Sales rose by 9%."
    )
    claims = check(draft, [_FIRE, _SALES, other])
    assert [(claim["text"], claim["cites"]) for claim in claims] == [
        ("A fire halted production.", [1]),
        ("Services earned 236.4.", [2]),
        ("Nobody was hurt.", [3]),
        ("Sales rose by 9%.", [3]),
    ]
    assert render(claims, draft).startswith("A fire halted production [1]. Services earned 236.4 [2].")


def test_a_source_named_by_its_number_is_a_mark() -> None:
    draft = "According to [1], a fire halted production. According to Report 2, services earned 236.4."
    claims = check(draft, [_FIRE, _SALES])
    assert render(claims, draft) == "A fire halted production [1]. Services earned 236.4 [2]."


def test_a_source_named_in_words_stays() -> None:
    held = evidence(1, "It burned.", title="Plant report 2024, 2. Reliability of plants")
    (claim,) = check("According to Plant report 2024, 2. Reliability of plants, it burned.", [held])
    assert (claim["cites"], claim["verdict"]) == ([1], "supported")


@pytest.mark.parametrize(
    "lead", ["According to the evidence, ", "According to Collection 1, ", "According to my_reports, "]
)
def test_a_lead_that_names_no_source_is_taken_off(lead: str) -> None:
    (claim,) = check(f"{lead}a fire halted production [1].", [evidence(1, "A fire halted production.")])
    assert claim["text"] == "A fire halted production."
    assert claim["cites"] == [1]


def test_a_lead_that_names_who_says_so_stays() -> None:
    (claim,) = check("According to Tolvang, it burned [1].", [evidence(1, "It burned, Tolvang says.")])
    assert claim["text"] == "According to Tolvang, it burned."
