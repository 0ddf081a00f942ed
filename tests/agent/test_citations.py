"""Citations: read from a draft, and written into the answer."""

from __future__ import annotations

import pytest

from agent.citations import claims, quotes, render
from agent.state import Claim
from tests.agent.made import evidence

_FIRE = evidence(1, "A fire halted production at the Brevnes plant of Tolvang Ceramics for seven weeks.")
_SALES = evidence(2, "Services | 236.4 | 214.9", title="Segment revenue", kind="table")


def _supported(found: list[Claim]) -> list[Claim]:
    return [Claim({**claim, "verdict": "supported"}) for claim in found]


def test_a_mark_before_or_after_the_full_stop_belongs_to_its_sentence() -> None:
    for answer in (
        "A fire halted production [1]. Services earned 236.4 [2].",
        "A fire halted production. [1] Services earned 236.4. [2]",
    ):
        found = claims(answer, [_FIRE, _SALES])
        assert [claim["cites"] for claim in found] == [[1], [2]]
        assert render(_supported(found)) == "A fire halted production [1]. Services earned 236.4 [2]."


def test_a_mark_that_names_no_passage_is_dropped() -> None:
    (sentence,) = claims("A fire halted production for seven weeks [9][1].", [_FIRE, _SALES])
    assert sentence["cites"] == [1]


def test_a_sentence_that_was_not_judged_is_not_supported() -> None:
    (sentence,) = claims("A fire halted production [1].", [_FIRE])
    assert "not supported" in render([sentence])


def test_several_marks() -> None:
    (sentence,) = claims("A fire in Brevnes, while Services earned 236.4 [1, 2].", [_FIRE, _SALES])
    assert sentence["cites"] == [1, 2]


def test_without_evidence_everything_is_flagged() -> None:
    (sentence,) = claims("A fire halted production [1].", [])
    assert (sentence["cites"], sentence["verdict"]) == ([], "not")


def test_nothing_gives_nothing() -> None:
    assert claims("", [_FIRE]) == []
    assert claims(" [1]. ", [_FIRE]) == []


def test_what_is_only_partly_supported_says_so() -> None:
    (claim,) = claims("A fire halted production [1].", [_FIRE])
    assert render([Claim({**claim, "verdict": "partly"})]) == (
        "A fire halted production (only partly supported) [1]."
    )


def test_headings_and_lists_keep_their_lines() -> None:
    draft = (
        "## What happened\n\nA fire halted production [1].\n\n"
        "- Services earned 236.4 [2].\n[2]\n- For seven weeks"
    )
    found = claims(draft, [_FIRE, _SALES])
    assert [claim["text"] for claim in found] == [
        "A fire halted production.",
        "Services earned 236.4.",
        "For seven weeks",
    ]
    assert render(_supported(found), draft) == (
        "## What happened\n\nA fire halted production [1].\n- Services earned 236.4 [2].\n- For seven weeks"
    )


def test_a_sentence_that_is_repeated_is_one_with_the_citations_of_all() -> None:
    other = evidence(3, "Because of a fire production at the Brevnes plant was halted for seven weeks.")
    draft = (
        "According to [1], a fire halted production at the Brevnes plant. Services earned 236.4 [2]. "
        "A fire halted production at the **Brevnes plant** [3]. A fire halted production at the Brevnes "
        "Plant!"
    )
    found = claims(draft, [_FIRE, _SALES, other])
    assert [claim["cites"] for claim in found] == [[1, 3], [2]]
    assert render(_supported(found), draft) == (
        "A fire halted production at the Brevnes plant [1][3]. Services earned 236.4 [2]."
    )


def test_a_line_of_repeats_goes_and_each_section_says_what_it_has_to_say() -> None:
    draft = (
        "## In short\n\nA fire halted production [1].\n- Services earned 236.4 [2].\n"
        "- Services earned 236.4\n[2]\n\n## What halted production\n\n"
        "A fire halted production [1].\nA fire halted production [1]."
    )
    found = claims(draft, [_FIRE, _SALES])
    assert len(found) == 3
    assert render(_supported(found), draft) == (
        "## In short\n\nA fire halted production [1].\n- Services earned 236.4 [2].\n\n"
        "## What halted production\n\nA fire halted production [1]."
    )


def test_a_sentence_that_says_what_its_heading_says_stays() -> None:
    draft = "## A fire halted production\n\nA fire halted production [1]."
    assert render(_supported(claims(draft, [_FIRE])), draft) == draft


def test_what_differs_in_a_sign_or_a_figure_is_no_repeat() -> None:
    draft = "Margins moved by 5%. Margins moved by -5%. Margins moved by 0.5%. It cost $5. It cost €5."
    assert len(claims(draft, [_FIRE])) == 5


def test_quotes_are_the_sentence_or_row_that_says_it() -> None:
    held = [
        evidence(1, "It was cold. A fire halted production at Brevnes."),
        evidence(2, "In millions | 2024\nServices | 236.4\nTotal | 990.0", kind="table"),
    ]
    found = claims("A fire halted production [1]. Services earned 236.4 [2].", held)
    assert quotes(found, held) == {
        "1": "A fire halted production at Brevnes.",
        "2": "Services | 236.4",
    }
    assert quotes([], held) == {}


def test_a_draft_that_cites_first() -> None:
    other = evidence(3, "Nobody was hurt. Sales rose by 9%.")
    draft = (
        "[1] A fire halted production. [2] Services earned 236.4.\n[3] Nobody was hurt. Sales rose by 9%."
    )
    found = claims(draft, [_FIRE, _SALES, other])
    assert [(claim["text"], claim["cites"]) for claim in found] == [
        ("A fire halted production.", [1]),
        ("Services earned 236.4.", [2]),
        ("Nobody was hurt.", [3]),
        ("Sales rose by 9%.", [3]),
    ]
    assert render(_supported(found), draft).startswith(
        "A fire halted production [1]. Services earned 236.4 [2]."
    )


def test_a_source_named_by_its_number_is_a_mark() -> None:
    draft = "According to [1], a fire halted production. According to Report 2, services earned 236.4."
    found = claims(draft, [_FIRE, _SALES])
    assert render(_supported(found), draft) == "A fire halted production [1]. Services earned 236.4 [2]."


def test_a_source_named_in_words_stays() -> None:
    held = evidence(1, "It burned.", title="Plant report 2024, 2. Reliability of plants")
    draft = "According to Plant report 2024, 2. Reliability of plants, it burned."
    assert [claim["text"] for claim in claims(draft, [held])] == [draft]


@pytest.mark.parametrize(
    "lead", ["According to the evidence, ", "According to Collection 1, ", "According to my_reports, "]
)
def test_a_lead_that_names_no_source_is_taken_off(lead: str) -> None:
    (claim,) = claims(f"{lead}a fire halted production [1].", [evidence(1, "A fire halted production.")])
    assert claim["text"] == "A fire halted production."
    assert claim["cites"] == [1]


def test_a_lead_that_names_who_says_so_stays() -> None:
    (claim,) = claims("According to Tolvang, it burned [1].", [evidence(1, "It burned, Tolvang says.")])
    assert claim["text"] == "According to Tolvang, it burned."


def test_a_mark_in_a_heading_is_not_shown() -> None:
    draft = "## Suppliers [3]\n\nTolvang makes them [1]."
    checked = [Claim({**one, "verdict": "supported"}) for one in claims(draft, [evidence(1, "x")])]
    assert render(checked, draft) == "## Suppliers\n\nTolvang makes them [1]."
