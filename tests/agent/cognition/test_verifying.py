"""Each sentence against its passages: supported, partly, not, and why."""

from __future__ import annotations

import pytest

from agent.budget import Budget, BudgetExhausted
from agent.cognition import proper_names
from agent.cognition.verifying import ModelVerifier, PlainVerifier, grounded, share
from agent.session import Session
from agent.state import Claim, Evidence, Verdict
from models.scripted import Scripted, ScriptedChat
from tests.agent.evidence import evidence

_FIRE = evidence(
    1,
    "A fire at the Brevnes plant of Tolvang Ceramics on 9 April 2025 halted all production for seven "
    "weeks. Three of its five kilns were destroyed. The plant did not restart in May. Nobody was injured.",
)
_TABLE = evidence(
    2,
    "Failures by plant\nPlant | Utilization 2024 | Utilization 2023\nCalder Bend, Ohio | 82% | 79%\n"
    "Port Ansel | 86% | 71%",
    kind="table",
)
_SEGMENTS = evidence(3, "In millions | 2024 | 2023\nServices | 1,284.6 | 214.9", kind="table")
_CHINESE = evidence(4, "投产后,Yunpu工厂的热泵年产能将由1800台提高到3200台。")
_ALL = [_FIRE, _TABLE, _SEGMENTS, _CHINESE]


def _claim(text: str, *cites: int) -> Claim:
    return Claim(text=text, cites=list(cites), support=0.0, verdict="not", reason="")


def _verdict(text: str, *cited: Evidence) -> tuple[Verdict, str]:
    known = proper_names.known_names(item["text"] for item in _ALL)
    return PlainVerifier().judge(text, cited, known)


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("A fire halted all production at the Brevnes plant for seven weeks.", _FIRE),
        ("Production at Brevnes was halted for 7 weeks by a fire.", _FIRE),
        ("Calder Bend had a utilization of 82% in 2024.", _TABLE),
        ("Services earned $1.28 billion in 2024.", _SEGMENTS),
        ("The Yunpu plant will make 3,200 heat pumps a year.", _CHINESE),
        ("The plant did not restart in May.", _FIRE),
    ],
)
def test_supported(text: str, cited: Evidence) -> None:
    assert _verdict(text, cited) == ("supported", "")


@pytest.mark.parametrize(
    ("text", "cited", "verdict", "reason"),
    [
        (
            "A fire halted production at the Brevnes plant for nine weeks.",
            _FIRE,
            "not",
            "nine does not stand in [1]",
        ),
        (
            "On 9 April 2025 a fire halted all production for 8 weeks.",
            _FIRE,
            "partly",
            "8 does not stand in [1]",
        ),
        ("A fire halted the plant of Sundrell.", _FIRE, "not", "[1] does not mention Sundrell"),
        (
            "Calder Bend had a utilization of 86% in 2024.",
            _TABLE,
            "not",
            "86 does not stand in the row “Calder Bend, Ohio” of [2]",
        ),
        ("Calder Bend had a utilization of 79% in 2024.", _TABLE, "not", "79 is for 2023 in [2]"),
        (
            "A fire halted all production for five weeks.",
            _FIRE,
            "not",
            "five is said of something else in [1]",
        ),
        ("The plant did restart in May.", _FIRE, "partly", "[1] says “not” of “restart”"),
        (
            "A fire has not halted all production for seven weeks.",
            _FIRE,
            "partly",
            "[1] does not say “not” of “halted”",
        ),
        ("The insurer paid for the losses of the company.", _FIRE, "not", "[1] does not say this"),
    ],
)
def test_not_supported(text: str, cited: Evidence, verdict: Verdict, reason: str) -> None:
    assert _verdict(text, cited) == (verdict, reason)


def test_without_a_citation_nothing_is_supported() -> None:
    assert _verdict("A fire halted production.") == ("not", "nothing is cited")


def test_two_passages_support_a_sentence_together() -> None:
    text = "Calder Bend had 82%, and a fire halted production at Brevnes for seven weeks."
    assert _verdict(text, _FIRE, _TABLE)[0] == "supported"
    assert _verdict(text, _TABLE)[0] != "supported"


def _judged(*verdicts: Verdict) -> list[Claim]:
    return [Claim({**_claim("x", 1), "verdict": verdict}) for verdict in verdicts]


def test_share_counts_half_for_partly() -> None:
    assert share(_judged("supported", "partly", "not")) == 0.5
    assert share([]) == 0.0


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["supported"], True),
        (["supported", "partly"], True),
        (["partly"], False),
        (["supported", "partly", "partly"], False),
        (["supported"] * 9 + ["not"], False),
        ([], False),
    ],
)
def test_grounded(verdicts: list[Verdict], expected: bool) -> None:
    assert grounded(_judged(*verdicts), _ALL) is expected


def test_nothing_is_grounded_without_evidence() -> None:
    assert not grounded(_judged("supported"), [])


def _asked(claims: list[Claim], *replies: Scripted) -> list[Claim]:
    with ScriptedChat(replies) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        return ModelVerifier().verify(session, "What happened?", claims, _ALL)


def test_the_model_judges_but_not_what_code_knows() -> None:
    claims = [
        _claim("A fire halted production for seven weeks.", 1),
        _claim("A fire halted production for nine weeks.", 1),
        _claim("Nobody knows."),
    ]
    judged = _asked(claims, ("1. A fire", {"verdicts": ["partly", "supported", "supported"]}))
    assert [claim["verdict"] for claim in judged] == ["partly", "not", "not"]
    assert judged[0]["reason"] == "[1] says only part of this"


def test_verdicts_that_do_not_fit_are_left_out() -> None:
    (judged,) = _asked([_claim("A fire halted production for seven weeks.", 1)], {"verdicts": []})
    assert judged["verdict"] == "supported"


def test_where_the_model_may_not_be_asked_code_judges() -> None:
    (judged,) = _asked([_claim("A fire halted production for seven weeks.", 1)], BudgetExhausted("tokens"))
    assert judged["verdict"] == "supported"


def test_without_citations_the_model_is_not_asked() -> None:
    (judged,) = _asked([_claim("A fire halted production for seven weeks.")])
    assert (judged["verdict"], judged["reason"]) == ("not", "nothing is cited")


@pytest.mark.parametrize(("word", "verdict"), [("shorter", "supported"), ("longer", "not")])
def test_a_comparison_is_judged_by_what_is_compared(
    idle_session: Session, word: str, verdict: Verdict
) -> None:
    stock = evidence(5, "The register lists 5 weeks of safety stock.")
    claims = [
        _claim("The register lists 5 weeks of safety stock.", 5),
        _claim("A fire halted all production for seven weeks.", 1),
        _claim(f"The safety stock was {word} than production was halted."),
    ]
    judged = PlainVerifier().verify(idle_session, "Which was longer?", claims, [_FIRE, stock])
    assert [claim["verdict"] for claim in judged] == ["supported", "supported", verdict]
    assert judged[2]["cites"] == [5, 1]
    assert judged[2]["reason"] == ("" if word == "shorter" else "5 weeks is not longer than seven weeks")
