"""Each sentence against its passages: supported, partly, not, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from agent.cognition.verifying import ModelVerifier, ReadingVerifier, copied, grounded, share

from agent.budget import Budget, BudgetExhausted
from agent.session import Session
from agent.state import Claim, Evidence, Verdict
from models.protocols import Reading, Span, Support
from models.scripted import Scripted, ScriptedChat, ScriptedReader
from tests.agent.evidence import evidence

_YES, _NO, _NEITHER = Support(0.9, 0.05, 0.05), Support(0.05, 0.9, 0.05), Support(0.1, 0.1, 0.8)
_FIRE = evidence(
    1,
    "A fire at the Brevnes plant of Tolvang Ceramics on 9 April 2025 halted all production for seven "
    "weeks. Three of its five kilns were destroyed. The plant did not restart in May. Nobody was injured.",
)
_SEGMENTS = evidence(2, "In millions | 2024 | 2023\nServices | 1,284.6 | 214.9", kind="table")
_LEASE: Any = {
    **evidence(3, "Die Miete beträgt 1.200 Euro im Monat, die Laufzeit 24 Monate."),
    "title": "Mietvertrag Kramer",
    "document": "lease.md",
    "date": "2024-03-01",
}
_RENT: Any = {**evidence(4, "Kramer rents the flat in Ulm to Weiss."), "document": "lease.md"}
_ALL = [_FIRE, _SEGMENTS, _LEASE, _RENT]


def _claim(text: str, *cites: int) -> Claim:
    return Claim(text=text, cites=list(cites), support=0.0, verdict="not", reason="")


class _Marking(ScriptedReader):
    """Takes some words for the answer, with a probability, and judges every claim undecided."""

    def __init__(self, words: str, probability: float) -> None:
        super().__init__([])
        self._words, self._probability = words, probability

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """The words, where they stand."""
        starts = [passage.find(self._words) for passage in passages]
        spans = [Span(at, at + len(self._words), self._probability) for at in starts]
        return [
            Reading(self._probability, (span,)) if span.start >= 0 else Reading(0.0, ()) for span in spans
        ]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """Neither."""
        return [_NEITHER for _ in pairs]


@pytest.mark.parametrize(
    ("text", "probability", "verdict"),
    [
        ("7 weeks", 0.6, "supported"),
        ("Halted for seven weeks", 0.6, "supported"),
        ("7 weeks", 0.4, "not"),
        ("8 weeks", 0.6, "not"),
        ("Not for seven weeks", 0.6, "not"),
        ("Seven weeks, the insurer said", 0.6, "not"),
    ],
)
def test_an_answer_of_a_few_words_is_supported_where_the_reader_takes_them_for_it(
    idle_session: Session, text: str, probability: float, verdict: Verdict
) -> None:
    verifier = ReadingVerifier(_Marking("seven weeks", probability))
    question = "For how long was production halted?"
    (claim,) = verifier.verify(idle_session, question, [_claim(text, 1)], [_FIRE])
    assert claim["verdict"] == verdict


def _verified(
    session: Session,
    claims: list[Claim],
    *judgements: Support | tuple[str, Support],
    held: Sequence[Evidence] = (),
) -> list[Claim]:
    with ScriptedReader(judgements) as reader:
        verifier = ReadingVerifier(reader)
        return verifier.verify(session, "What happened at Brevnes?", claims, held or [_FIRE])


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("A fire halted all production at the Brevnes plant for seven weeks.", _FIRE),
        ("Production was halted for 7 weeks after the fire of 2025-04-09.", _FIRE),
        ("In spring two kilns of Tolvang were left.", _FIRE),  # a small number in words may be a count
        ("Services earned $1.28 billion in 2024.", _SEGMENTS),
        ("Kramer's lease of 1 March 2024 costs €1,200 a month for 2 years.", _LEASE),
    ],
)
def test_supported(idle_session: Session, text: str, cited: Evidence) -> None:
    (claim,) = _verified(idle_session, [_claim(text, cited["number"])], _YES, held=[cited])
    assert (claim["verdict"], claim["reason"], claim["support"]) == ("supported", "", 0.9)


@pytest.mark.parametrize(
    ("text", "judgement", "verdict", "reason"),
    [
        ("The plant restarted in May.", _NO, "not", "[1] says otherwise"),
        ("The insurer paid.", _NEITHER, "not", "[1] does not say this"),
        ("The fire cost 48,500 euros.", _NEITHER, "not", "[1] does not mention 48,500"),
        ("The fire cost 48,500 euros.", _YES, "not", "[1] does not mention 48,500"),
        ("Production halted for 7 days.", _YES, "not", "[1] does not mention 7"),
        ("On 10 April 2025 a fire broke out.", _YES, "not", "[1] does not mention 10 April 2025"),
        (
            "On 9 April 2025 a fire halted all production for 8 weeks.",
            _YES,
            "partly",
            "[1] does not mention 8",
        ),
        ("A fire halted the plant of Sundrell Oy.", _YES, "partly", "[1] does not mention Sundrell Oy"),
    ],
)
def test_not_or_only_partly_supported(
    idle_session: Session, text: str, judgement: Support, verdict: Verdict, reason: str
) -> None:
    (claim,) = _verified(idle_session, [_claim(text, 1)], judgement)
    assert (claim["verdict"], claim["reason"]) == (verdict, reason)


def test_several_passages_support_a_sentence_alone_or_together(idle_session: Session) -> None:
    claim = _claim("Services earned 1,284.6 and a fire halted production.", 1, 2)
    for judgements in ((_YES, _NEITHER, _NEITHER), (_NEITHER, _NEITHER, _YES)):
        (judged,) = _verified(idle_session, [claim], *judgements, held=_ALL[:2])
        assert (judged["verdict"], judged["cites"]) == ("supported", [1, 2])  # the figure is the second's
    (judged,) = _verified(idle_session, [claim], _YES, _NO, _YES, held=_ALL[:2])
    assert (judged["verdict"], judged["reason"]) == ("not", "[2] says otherwise")


def test_a_passage_that_does_not_say_it_is_no_longer_cited(idle_session: Session) -> None:
    claim = _claim("A fire halted production.", 1, 2)
    (judged,) = _verified(idle_session, [claim], _YES, _NEITHER, _YES, held=_ALL[:2])
    assert (judged["verdict"], judged["cites"]) == ("supported", [1])


def test_a_sentence_is_given_the_passage_that_supports_it(idle_session: Session) -> None:
    claims = [_claim("A fire halted production.", 2), _claim("A fire halted production.")]
    told = (("Services", _NEITHER), ("kilns", _YES), ("kilns", _YES), ("Services", _NEITHER))
    judged = _verified(idle_session, claims, *told, held=_ALL[:2])
    assert [(claim["cites"], claim["verdict"]) for claim in judged] == [([1], "supported")] * 2


def test_a_sentence_that_its_passage_refutes_keeps_its_citation(idle_session: Session) -> None:
    (judged,) = _verified(idle_session, [_claim("The plant restarted.", 1)], _NO, held=_ALL)
    assert (judged["cites"], judged["verdict"]) == ([1], "not")


def test_what_no_passage_supports_stays_without_a_citation(idle_session: Session) -> None:
    (judged,) = _verified(idle_session, [_claim("Aliens landed.")], _NEITHER)
    assert (judged["cites"], judged["verdict"], judged["reason"]) == ([], "not", "no passage is cited")


def test_a_name_of_the_question_may_stand_elsewhere_in_the_document(idle_session: Session) -> None:
    about = evidence(5, "The plant burned.")
    (judged,) = _verified(
        idle_session, [_claim("The plant in Brevnes burned.", 5)], _YES, held=[_FIRE, about]
    )
    assert judged["verdict"] == "supported"
    elsewhere: Any = {**about, "document": "other.md"}
    (judged,) = _verified(
        idle_session, [_claim("The plant in Brevnes burned.", 5)], _YES, held=[_FIRE, elsewhere]
    )
    assert (judged["verdict"], judged["reason"]) == ("partly", "[5] does not mention Brevnes")


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


def _asked(claims: list[Claim], judgements: Sequence[Support], *replies: Scripted) -> list[Claim]:
    with ScriptedChat(replies) as chat, ScriptedReader(judgements) as reader:
        session = Session(chat, Budget(), lambda _event: None)
        return ModelVerifier(ReadingVerifier(reader)).verify(session, "What happened?", claims, [_FIRE])


def test_the_model_judges_but_not_what_code_knows() -> None:
    claims = [
        _claim("A fire halted production for seven weeks.", 1),
        _claim("A fire halted production for 9 weeks.", 1),
        _claim("Nobody knows."),
    ]
    verdicts = {"verdicts": ["partly", "supported", "supported"]}
    judged = _asked(claims, [_YES, _YES, _NEITHER], ("1. A fire", verdicts))
    assert [claim["verdict"] for claim in judged] == ["partly", "not", "not"]
    assert judged[0]["reason"] == "[1] says only part of this"


@pytest.mark.parametrize("reply", [{"verdicts": []}, BudgetExhausted("tokens")])
def test_where_the_model_gives_no_verdict_the_readers_stands(reply: Scripted) -> None:
    (judged,) = _asked([_claim("A fire halted production for seven weeks.", 1)], [_YES], reply)
    assert judged["verdict"] == "supported"


def test_without_citations_the_model_is_not_asked() -> None:
    (judged,) = _asked([_claim("A fire halted production for seven weeks.")], [_NEITHER])
    assert (judged["verdict"], judged["reason"]) == ("not", "no passage is cited")


def test_a_whole_sentence_that_is_copied_needs_no_reading() -> None:
    passage = "Manual\nThe maximum is 16 on ESP8266 and 32 on ESP32. Nobody says that ten are enough."
    assert copied("32 – The maximum is 16 on ESP8266 and 32 on ESP32.", passage)
    assert copied("The maximum is 16 on ESP8266, and 32 on ESP32", passage)
    assert copied("32 – … is 16 on ESP8266 and 32 on ESP32.", passage)
    assert not copied("ten are enough", passage)
    assert not copied("The maximum is 32 on ESP8266.", passage)
    assert not copied("33 – The maximum is 16 on ESP8266 and 32 on ESP32.", passage)
    assert not copied("", passage)
