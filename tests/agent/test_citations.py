"""Citations: read from a draft, and written into the answer."""

from __future__ import annotations

import pytest

from agent.citations import claims, quotes, render
from agent.state import Claim, Evidence
from tests.agent.made import evidence

_FIRE = evidence(1, "A fire halted production at the Brevnes plant of Tolvang Ceramics for seven weeks.")
_SALES = evidence(2, "Services | 236.4 | 214.9", title="Segment revenue", kind="table")
_OTHER = evidence(3, "Because of a fire production at the Brevnes plant was halted for seven weeks.")
_ALL = [_FIRE, _SALES, _OTHER]


def _rendered(draft: str, held: list[Evidence]) -> str:
    """The draft as an answer, if all of it is supported."""
    return render([Claim({**claim, "verdict": "supported"}) for claim in claims(draft, held)], draft)


@pytest.mark.parametrize(
    ("draft", "answer"),
    [
        pytest.param(
            "A fire halted production. [1] Services earned 236.4. [2]",
            "A fire halted production [1]. Services earned 236.4 [2].",
            id="marks behind the full stop",
        ),
        pytest.param(
            "[1] A fire halted production. [2] Services earned 236.4.\n[3] Nobody was hurt. It rains.",
            "A fire halted production [1]. Services earned 236.4 [2]. Nobody was hurt [3]. It rains [3].",
            id="marks before the sentence",
        ),
        pytest.param(
            "A fire halted production for seven weeks [9][1].",
            "A fire halted production for seven weeks [1].",
            id="a mark that names no passage",
        ),
        pytest.param(
            "A fire in Brevnes, while Services earned 236.4 [1, 2].",
            "A fire in Brevnes, while Services earned 236.4 [1][2].",
            id="several marks in one",
        ),
        pytest.param(
            "## Now\n\nA fire halted production [1].\n\n- Services earned 236.4 [2].\n[2]\n- 7 weeks",
            "## Now\n\nA fire halted production [1].\n- Services earned 236.4 [2].\n- 7 weeks",
            id="headings and lists keep their lines",
        ),
        pytest.param(
            "A fire halted production at the Brevnes plant [1]. Services earned 236.4 [2]. "
            "A fire halted production at the **Brevnes plant** [3]. "
            "A fire halted production at the Brevnes Plant!",
            "A fire halted production at the Brevnes plant [1][3]. Services earned 236.4 [2].",
            id="a repeated sentence is one, with the citations of all",
        ),
        pytest.param(
            "## In short\n\nA fire halted production [1].\n- Services earned 236.4 [2].\n"
            "- Services earned 236.4\n[2]\n\n## What halted production\n\n"
            "A fire halted production [1].\nA fire halted production [1].",
            "## In short\n\nA fire halted production [1].\n- Services earned 236.4 [2].\n\n"
            "## What halted production\n\nA fire halted production [1].",
            id="each section may repeat what another says",
        ),
        pytest.param(
            "## A fire halted production\n\nA fire halted production [1].",
            "## A fire halted production\n\nA fire halted production [1].",
            id="a sentence that repeats its heading",
        ),
        pytest.param(
            "## Suppliers [3]\n\nTolvang makes them [1].",
            "## Suppliers\n\nTolvang makes them [1].",
            id="a mark in a heading",
        ),
    ],
)
def test_a_draft_becomes_an_answer(draft: str, answer: str) -> None:
    assert _rendered(draft, _ALL) == answer


def test_what_is_not_supported_says_so() -> None:
    (claim,) = claims("A fire halted production [1].", [_FIRE])
    assert "not supported" in render([claim]), "it was not judged"
    assert render([Claim({**claim, "verdict": "partly"})]) == (
        "A fire halted production (only partly supported) [1]."
    )
    (claim,) = claims("A fire halted production [1].", [])
    assert (claim["cites"], claim["verdict"]) == ([], "not")


def test_what_differs_in_a_sign_or_a_figure_is_no_repeat() -> None:
    draft = "Margins moved by 5%. Margins moved by -5%. Margins moved by 0.5%. It cost $5. It cost €5."
    assert len(claims(draft, [_FIRE])) == 5


def test_quotes_are_the_sentence_or_row_that_says_it() -> None:
    held = [
        evidence(1, "It was cold. A fire halted production at Brevnes."),
        evidence(2, "In millions | 2024\nServices | 236.4\nTotal | 990.0", kind="table"),
    ]
    found = claims("A fire halted production [1]. Services earned 236.4 [2].", held)
    assert quotes(found, held) == {"1": "A fire halted production at Brevnes.", "2": "Services | 236.4"}
    assert quotes([], held) == {}
    supported = [
        Claim({**claim, "verdict": "supported", "cites": [1]})
        for claim in claims("Production halted at Brevnes. It was cold.", held)
    ]
    assert quotes(supported, held) == {"1": "A fire halted production at Brevnes. … It was cold."}
    assert quotes([*supported, *found], held)["1"] == "A fire halted production at Brevnes. … It was cold."
    accounts = [evidence(1, "In Debian, an operator uses sudo. It had uid 37.")]
    (claim,) = claims("The operator user had uid 37 in Debian [1].", accounts)
    assert quotes([claim], accounts) == {"1": "It had uid 37."}, "a figure tells more than words"
    fees = [evidence(1, "Lesson | 30 minutes | 45 minutes\nCello | €71 | €98", kind="table")]
    (claim,) = claims("A cello lesson of 30 minutes costs €71 [1].", fees)
    assert quotes([claim], fees) == {"1": "Cello | €71 | €98"}, "a row tells more than the heading"
