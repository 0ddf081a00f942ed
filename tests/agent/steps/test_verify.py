"""Step ``verify``: each sentence against its passages, and what is missing; step ``approve``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import agent.events as ev
from agent.budget import ANSWER_NOW, BudgetExhausted
from agent.prompts import NOT_FOUND, WITHHELD
from agent.session import Session
from agent.state import Claim, Evidence, Note, Verdict
from agent.steps.approve import approve
from agent.steps.verify import grounded, is_copied, share, verify, verify_by_model, verify_by_reader
from agent.support import named_cell
from models.protocols import Support
from tests.agent.made import candidate, evidence, note, scripted, span, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import Scripted, ScriptedReader, WordReader

_YES, _NO, _NEITHER = Support(0.9, 0.05, 0.05), Support(0.05, 0.9, 0.05), Support(0.1, 0.1, 0.8)
_MAYBE_NOT, _UNRELATED = Support(0.2, 0.6, 0.2), Support(0.01, 0.04, 0.95)
_FIRE = evidence(
    1,
    "A fire at the Brevnes plant of Tolvang Ceramics on 9 April 2025 halted all production for seven "
    "weeks. Three of its five kilns were destroyed. The plant did not restart in May. Nobody was injured.",
)
_SEGMENTS = evidence(2, "In millions | 2024 | 2023\nServices | 1,284.6 | 214.9", kind="table")
_LEASE = evidence(
    3,
    "Die Miete beträgt 1.200 Euro im Monat, die Laufzeit 24 Monate.",
    title="Mietvertrag Kramer",
    document="lease.md",
    date="2024-03-01",
)
_ALL = [_FIRE, _SEGMENTS, _LEASE]


def _claim(text: str, *cites: int) -> Claim:
    return Claim(text=text, cites=list(cites), support=0.0, verdict="not", reason="")


class _Answering(WordReader):
    """Takes an answer for one to a single question only."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return [_YES if question == self._question else _NEITHER for _ in pairs]


def test_what_another_cell_says_than_was_asked_for_is_no_answer(idle_session: Session) -> None:
    rota = evidence(1, "Name | Plot | Size\nRosa Tummer | 23 | half\nIan Vale | 31 | full", kind="table")
    claims = [_claim("Rosa Tummer has half size.", 1), _claim("Rosa Tummer has plot 23.", 1)]
    questions = ["Which plot does Rosa Tummer have?"]
    other, asked = verify_by_reader(
        WordReader(supports=_YES, judges=_YES), idle_session, questions, claims, [rota]
    )
    assert (other["verdict"], asked["verdict"]) == ("partly", "supported")
    assert "23" in other["reason"]


@pytest.mark.parametrize(
    ("answered", "verdict"), [("Where?", "supported"), ("Since when?", "supported"), ("Why?", "unsure")]
)
def test_a_true_sentence_must_also_answer(idle_session: Session, answered: str, verdict: Verdict) -> None:
    claims = [_claim("All production halted for seven weeks.", 1), _claim("Zanzibar owns the mill.", 1)]
    questions = ["Where?", "Since when?"]
    true, false = verify_by_reader(_Answering(answered), idle_session, questions, claims, [_FIRE])
    assert (true["verdict"], bool(true["reason"])) == (verdict, verdict == "unsure")
    assert false["verdict"] == "not"


_HOW_LONG, _EARNED = "For how long was production halted?", "What were the Services earnings in 2024?"


@pytest.mark.parametrize(
    ("question", "cited", "text", "probability", "verdict"),
    [
        (_HOW_LONG, _FIRE, "7 weeks", 0.6, "supported"),
        (_HOW_LONG, _FIRE, "Halted for seven weeks", 0.6, "supported"),
        (_HOW_LONG, _FIRE, "7 weeks", 0.4, "unsure"),
        (_HOW_LONG, _FIRE, "8 weeks", 0.6, "not"),
        (_HOW_LONG, _FIRE, "Not for seven weeks", 0.6, "unsure"),
        (_HOW_LONG, _FIRE, "Seven weeks, the insurer said", 0.6, "unsure"),
        # A sentence may give the figure of a table its scale.
        (_EARNED, _SEGMENTS, "The Services earnings in 2024 were 1,284.6 million.", 0.6, "supported"),
        (_EARNED, _SEGMENTS, "The Services earnings in 2024 were 1,284.6.", 0.6, "supported"),
        (_EARNED, _SEGMENTS, "The Services earnings in 2024 were 214.9 million.", 0.6, "not"),
    ],
)
def test_a_short_answer_is_supported_where_the_reader_takes_the_words_for_it(
    idle_session: Session, question: str, cited: Evidence, text: str, probability: float, verdict: Verdict
) -> None:
    marks = {_HOW_LONG: ("seven weeks", probability), _EARNED: ("1,284.6", probability)}
    claims = [_claim(text, cited["number"])]
    (claim,) = verify_by_reader(
        WordReader(marks, supports=_NEITHER, judges=_YES), idle_session, [question], claims, [cited]
    )
    assert claim["verdict"] == verdict


def test_a_short_answer_from_an_unlikely_passage_is_not_supported(idle_session: Session) -> None:
    reader = WordReader({_HOW_LONG: ("seven weeks", 0.9)}, reads=0.4, supports=_NEITHER, judges=_YES)
    claims = [_claim("7 weeks", _FIRE["number"])]
    (claim,) = verify_by_reader(reader, idle_session, [_HOW_LONG], claims, [_FIRE])
    assert claim["verdict"] == "unsure"


@pytest.mark.parametrize(
    ("supported", "refuted", "answers", "verdict"),
    [
        (0.4, 0.2, 0.8, "supported"),
        (0.4, 0.2, 0.6, "unsure"),
        (0.2, 0.2, 0.8, "unsure"),
        (0.4, 0.55, 0.8, "unsure"),
    ],
)
def test_a_sentence_that_may_be_supported_is_where_it_is_surely_the_answer(
    idle_session: Session, supported: float, refuted: float, answers: float, verdict: Verdict
) -> None:
    judges = Support(answers, 0.1, 0.9 - answers)
    reader = WordReader(supports=Support(supported, refuted, 1 - supported - refuted), judges=judges)
    claims = [_claim("The insurer paid for the kilns.", 1)]
    (claim,) = verify_by_reader(reader, idle_session, ["Who paid for the kilns?"], claims, [_FIRE])
    assert claim["verdict"] == verdict


def _verified(
    session: Session,
    claims: list[Claim],
    *judgements: Support | tuple[str, Support],
    held: Sequence[Evidence] = (),
) -> list[Claim]:
    with ScriptedReader(judgements) as reader:
        return verify_by_reader(reader, session, ["What happened at Brevnes?"], claims, held or [_FIRE])


@pytest.mark.parametrize(
    ("text", "cited", "judgement", "verdict", "reason"),
    [
        ("A fire halted all production at Brevnes for seven weeks.", _FIRE, _YES, "supported", ""),
        ("Production was halted for 7 weeks after the fire of 2025-04-09.", _FIRE, _YES, "supported", ""),
        # A small number in words may be a count.
        ("In spring two kilns of Tolvang were left.", _FIRE, _YES, "supported", ""),
        ("Kramer's lease of 1 March 2024 costs €1,200 a month for 2 years.", _LEASE, _YES, "supported", ""),
        ("The plant restarted in May.", _FIRE, _NO, "not", "[1] may say otherwise"),
        ("The plant restarted in May.", _FIRE, _MAYBE_NOT, "unsure", "[1] may say otherwise"),
        ("The insurer paid.", _FIRE, _NEITHER, "unsure", "[1] may not say this"),
        ("The insurer paid.", _FIRE, _UNRELATED, "not", "[1] may not say this"),
        ("It burnt at Sundrell Oy.", _FIRE, _NEITHER, "not", "[1] does not mention Sundrell Oy"),
        ("The fire cost 48,500 euros.", _FIRE, _NEITHER, "not", "[1] does not mention 48,500"),
        ("The fire cost 48,500 euros.", _FIRE, _YES, "not", "[1] does not mention 48,500"),
        ("Production halted for 7 days.", _FIRE, _YES, "not", "[1] does not mention 7"),
        ("On 10 April 2025 a fire broke out.", _FIRE, _YES, "not", "[1] does not mention 10 April 2025"),
        ("On 9 April 2025 a fire raged for 8 weeks.", _FIRE, _YES, "partly", "[1] does not mention 8"),
        ("A fire halted Sundrell Oy.", _FIRE, _YES, "partly", "[1] does not mention Sundrell Oy"),
    ],
)
def test_a_sentence_is_judged_by_the_reader_and_by_its_numbers_and_names(
    idle_session: Session, text: str, cited: Evidence, judgement: Support, verdict: Verdict, reason: str
) -> None:
    (claim,) = _verified(idle_session, [_claim(text, cited["number"])], judgement, held=[cited])
    assert (claim["verdict"], claim["reason"]) == (verdict, reason)


_BOTH_SAY = _claim("Services earned 1,284.6 and a fire halted production.", 1, 2)


@pytest.mark.parametrize(
    ("claim", "judgements", "cites", "verdict", "reason"),
    [
        (_BOTH_SAY, [_YES, _NEITHER, _NEITHER], [1, 2], "supported", ""),  # the figure is the second's
        (_BOTH_SAY, [_NEITHER, _NEITHER, _YES], [1, 2], "supported", ""),  # together
        (_BOTH_SAY, [_YES, _NO, _YES], [1, 2], "not", "[2] may say otherwise"),
        (_claim("A fire halted production.", 1, 2), [_YES, _NEITHER, _YES], [1], "supported", ""),
        (_claim("The plant restarted.", 1), [_NO], [1], "not", "[1] may say otherwise"),
    ],
)
def test_what_of_its_passages_a_sentence_goes_on_citing(
    idle_session: Session,
    claim: Claim,
    judgements: list[Support],
    cites: list[int],
    verdict: Verdict,
    reason: str,
) -> None:
    (judged,) = _verified(idle_session, [claim], *judgements, held=_ALL[:2])
    assert (judged["cites"], judged["verdict"], judged["reason"]) == (cites, verdict, reason)


def test_a_sentence_is_given_the_passage_that_supports_it(idle_session: Session) -> None:
    claims = [_claim("A fire halted production.", 2), _claim("A fire halted production.")]
    told = (("Services", _NEITHER), ("kilns", _YES), ("kilns", _YES), ("Services", _NEITHER))
    judged = _verified(idle_session, claims, *told, held=_ALL[:2])
    assert [(claim["cites"], claim["verdict"]) for claim in judged] == [([1], "supported")] * 2


@pytest.mark.parametrize(
    ("document", "verdict", "reason"),
    [("annual-report", "supported", ""), ("other.md", "partly", "[5] does not mention Brevnes")],
)
def test_a_name_of_the_question_may_stand_elsewhere_in_the_document(
    idle_session: Session, document: str, verdict: Verdict, reason: str
) -> None:
    held = [_FIRE, evidence(5, "The plant burned.", document=document)]
    (judged,) = _verified(idle_session, [_claim("The plant in Brevnes burned.", 5)], _YES, held=held)
    assert (judged["verdict"], judged["reason"]) == (verdict, reason)


@pytest.mark.parametrize(
    ("verdicts", "expected", "part"),
    [
        (["supported"], True, 1.0),
        (["supported", "partly"], True, 0.75),
        (["supported", "unsure"], True, 0.75),
        (["partly"], False, 0.5),
        (["supported", "partly", "partly"], False, 2 / 3),
        (["supported"] * 9 + ["not"], False, 0.9),
        ([], False, 0.0),
    ],
)
def test_grounded(verdicts: list[Verdict], expected: bool, part: float) -> None:
    claims = [Claim({**_claim("x", 1), "verdict": verdict}) for verdict in verdicts]
    assert grounded(claims, _ALL) is expected
    assert share(claims) == pytest.approx(part)  # partly counts half
    assert not grounded(claims, [])


def _asked(claims: list[Claim], judgements: Sequence[Support], *replies: Scripted) -> list[Claim]:
    with scripted(*replies) as session, ScriptedReader(judgements) as reader:
        return verify_by_model(reader, session, ["What happened?"], claims, [_FIRE])


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
    (uncited,) = _asked(claims[2:], [_NEITHER])  # nothing is asked
    assert uncited["reason"] == "no passage is cited"


@pytest.mark.parametrize("reply", [{"verdicts": []}, BudgetExhausted("tokens")])
def test_where_the_model_gives_no_verdict_the_readers_stands(reply: Scripted) -> None:
    (judged,) = _asked([_claim("A fire halted production for seven weeks.", 1)], [_YES], reply)
    assert judged["verdict"] == "supported"


def test_a_whole_sentence_that_is_copied_needs_no_reading() -> None:
    passage = "Manual\nThe maximum is 16 on ESP8266 and 32 on ESP32. Nobody says that ten are enough."
    assert is_copied("32 – The maximum is 16 on ESP8266 and 32 on ESP32.", passage)
    assert is_copied("The maximum is 16 on ESP8266, and 32 on ESP32", passage)
    assert is_copied("32 – … is 16 on ESP8266 and 32 on ESP32.", passage)
    assert is_copied("Earlier (Manual): 32 – The maximum is 16 on ESP8266 and 32 on ESP32.", passage)
    assert not is_copied("ten are enough", passage)
    assert not is_copied("The maximum is 32 on ESP8266.", passage)
    assert not is_copied("33 – The maximum is 16 on ESP8266 and 32 on ESP32.", passage)
    assert not is_copied("", passage)


_RELEASES = evidence(
    1,
    "version | codename | created | release | eol\n"
    "10 | Buster | 2017-06-17 | 2019-07-06 | 2022-09-10\n"
    "11 | Bullseye | 2019-07-06 | 2021-08-14 | 2024-08-14",
    kind="table",
)

_FLOUR = evidence(
    1, "Flour | Bag | Price per bag\nStrong white | 25 kg | £19.40\nRye | 5 kg | £22", kind="table"
)


@pytest.mark.parametrize(
    ("sentence", "agrees"),
    [
        ("Strong white is cheapest at £19.40 per bag.", None),  # "bag" names two columns
        ("A bag of strong white has 5 kg.", False),
        ("Services earned $1.28 billion in 2024.", True),
        ("Services earned $214.9 million in 2024.", False),
        ("Buster was released on July 6, 2019.", True),
        ("The version of Bullseye is 11.", True),
        ("Buster was released on 17 June 2017.", False),
        ("Bullseye was released on 2019-07-06.", False),
        ("The version of Bullseye is 10.", False),
        ("Buster was released late.", None),
        ("Buster was no longer used from 2022-09-10.", None),
        ("Buster was created on 2017-06-17 and released on 2019-07-06.", None),
    ],
)
def test_a_named_cell_needs_no_reading(idle_session: Session, sentence: str, agrees: bool | None) -> None:
    table = next((one for one in (_FLOUR, _SEGMENTS) if named_cell(sentence, one)), _RELEASES)
    cell = named_cell(sentence, table)
    assert (cell and cell.agrees(sentence)) is agrees
    judgements = [_YES] if agrees is None else []
    (claim,) = _verified(idle_session, [_claim(sentence, table["number"])], *judgements, held=[table])
    assert (claim["verdict"] == "not") is (agrees is False)
    refuted = f"[{table['number']}] has {cell and cell.value} in that cell"
    assert (claim["reason"] == refuted) is (agrees is False)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was Buster released?", "Buster was released on 2019-07-06."),
        ("When was Debian 10 out?", "Buster was released on 17 June 2017."),
    ],
)
def test_a_value_of_a_cell_beside_the_one_that_was_asked_for_is_corrected(
    idle_session: Session, question: str, text: str
) -> None:
    claims = [_claim("Buster was released on 17 June 2017.", 1)]
    reader = _Answering("")  # takes nothing for an answer
    (claim,) = verify_by_reader(reader, idle_session, [question], claims, [_RELEASES])
    assert claim["text"] == text
    assert claim["verdict"] == ("supported" if "2019" in text else "not")


# --- the step ---------------------------------------------------------------------------------------

_BURNED = "A fire halted production at the Brevnes plant of Tolvang for seven weeks."
_HELD = [evidence(1, f"{_BURNED} Nobody was hurt."), evidence(2, "Net revenue was $1,284.6 million.")]
_HALTED = "A fire halted production for seven weeks [1]."
_PAID = "The insurer of Sundrell paid (not supported by the sources) [1]."
_FOUND = note("A fire", 1, question="What halted production at Brevnes?")
_LOST = note("", question="How much did the insurer pay?")
_MISSING = "Not found in your documents: How much did the insurer pay?"


def _run(make: Make, events: Events, draft: str, *notes: Note, **changes: Any) -> ev.Answered:
    update = verify(state(draft=draft, notes=list(notes), evidence=_HELD), make(**changes))
    answered = events[-1]
    assert isinstance(answered, ev.Answered)
    told = (update["answer"], update["claims"], update["share"], update["grounded"])
    assert (answered.answer, answered.sentences, answered.share, answered.grounded) == told
    return answered


def test_what_is_unsupported_is_flagged_and_what_is_repeated_stands_once(
    make: Make, events: Events
) -> None:
    draft = f"{_HALTED} {_HALTED} The insurer of Sundrell paid [1]. {_HALTED}"
    answered = _run(make, events, draft, _FOUND)
    assert answered.answer == f"{_HALTED} {_PAID}"
    assert (answered.grounded, answered.share) == (False, 0.5)
    assert [bool(claim["reason"]) for claim in answered.sentences] == [False, True]
    assert ([item["number"] for item in answered.sources], answered.quotes["1"]) == ([1], _BURNED)


@pytest.mark.parametrize(
    ("lost", "length", "shown"),
    [
        (_LOST, "normal", f"{_HALTED} {_MISSING}"),
        (_LOST, "report", f"{_HALTED}\n\n## What was not found\n\n- {_MISSING}"),
        (note("", question="The sum."), "normal", f"{_HALTED} Not found in your documents: The sum."),
        (Note({**_LOST, "relevance": 0.3}), "normal", _HALTED),  # it may stand in a passage
    ],
)
def test_what_a_step_did_not_find_is_said_and_counts_for_nothing(
    make: Make, events: Events, lost: Note, length: str, shown: str
) -> None:
    answered = _run(make, events, _HALTED, _FOUND, lost, length=length)
    assert (answered.answer, answered.grounded, len(answered.sentences)) == (shown, True, 1)


def test_who_wants_the_answer_now_does_not_wait_for_the_model_to_say_what_is_missing(make: Make) -> None:
    asked = (_FOUND["question"], _LOST["question"], "Who insured it?", "Where is #3?")
    plan = [step(question) for question in asked]
    urgent = {"draft": _HALTED, "route": "deep", "plan": plan, "stopped_because": ANSWER_NOW}
    notes = [_FOUND, Note({**_LOST, "step": 2})]
    for draft in (_HALTED, f"{_HALTED} {NOT_FOUND}"):  # a refusal does not say of what
        update = verify(state(evidence=_HELD, notes=notes, **{**urgent, "draft": draft}), make(taught=True))
        assert update["answer"] == f"{_HALTED} {_MISSING} Not searched: Where is (Who insured it)?"


@pytest.mark.parametrize(
    ("draft", "status"),
    [
        ("", "not_found"),
        (f"{NOT_FOUND} A fire halted production [1].", ""),
        *((refusal, "") for refusal in (NOT_FOUND, f"{NOT_FOUND} [1]", "not found in your documents")),
    ],
)
def test_not_found(make: Make, events: Events, draft: str, status: str) -> None:
    update = verify(state(draft=draft, status=status, notes=[_FOUND], evidence=_HELD), make())
    assert update["status"] == "not_found"
    assert (update["answer"], update["grounded"]) == (NOT_FOUND, False)
    assert events == [ev.Answered(NOT_FOUND, [], [])]


_ASKED = "Who supplies Orlavane's bearings?"
_SAID = "Orlavane buys all of its ceramic bearings from Tolvang Ceramics [1]."


@pytest.mark.parametrize("notes", [[_FOUND], [Note({**_FOUND, "found": False})]])
@pytest.mark.parametrize(
    ("question", "draft", "probability", "answer"),
    [
        (_ASKED, _SAID, 0.6, _SAID),
        (_ASKED, f"{_SAID} It rains [1].", 0.6, f"{_SAID} It rains (not supported by the sources) [1]."),
        (_ASKED, "It rains [1].", 0.3, NOT_FOUND),
        ("奥拉万的轴承由谁供应？", _SAID, 0.3, _SAID),
        ("奥拉万的轴承由谁供应？", "It rains [1].", 0.3, NOT_FOUND),
    ],
)
def test_where_no_passage_is_likely_an_answer_that_answers_is_shown(
    make: Make, notes: list[Note], question: str, draft: str, probability: float, answer: str
) -> None:
    held = [evidence(1, "Orlavane buys all of its ceramic bearings from Tolvang Ceramics.", score=0.1)]
    reader = WordReader({_ASKED: ("Tolvang Ceramics", probability)})
    update = verify(state(question=question, draft=draft, notes=notes, evidence=held), make(reader=reader))
    assert update["answer"] == answer


@pytest.mark.parametrize(("score", "status"), [(0.6, "answered"), (0.3, "not_found")])
def test_what_is_not_supported_is_marked_where_the_reader_takes_a_passage_for_an_answer(
    make: Make, score: float, status: str
) -> None:
    held = [evidence(1, "Orlavane buys its bearings from Tolvang.", score=score)]
    missed = [{**_FOUND, "found": False}]
    draft = "Zanzibar owns the mill [1]."
    update = verify(state(question=_ASKED, draft=draft, status="", notes=missed, evidence=held), make())
    assert update["status"] == status
    assert all(claim["verdict"] == "not" for claim in update["claims"])


@pytest.mark.parametrize(
    ("rewritten", "stays"),
    [("", True), ("Zanzibar owns the mill [1].", True), (NOT_FOUND, True), (_HALTED, False)],
)
def test_a_rewritten_answer_of_which_less_is_supported_replaces_none(
    make: Make, events: Events, rewritten: str, stays: bool
) -> None:
    fields: dict[str, Any] = {"notes": [_LOST], "evidence": _HELD}
    fields |= verify(state(draft=f"{_HALTED} The insurer of Sundrell paid [1].", **fields), make())
    fields |= {"approval": "rewrite", "draft": rewritten, "status": ""}
    after = verify(state(**fields), make())
    assert after["status"] == "answered"
    assert ("answer" not in after) == isinstance(events[-1], ev.Warned) == stays
    # An answer of which nothing is supported is not lost, either.
    assert "answer" not in verify(state(**{**fields, "draft": "", "share": 0.0}), make())


def test_a_rewritten_answer_says_which_look_ups_it_leaves_out(make: Make) -> None:
    """A finding that does not answer its look-up is not in it."""
    other = note("The insurer paid.", 1, question=_LOST["question"], step=2)
    fields: dict[str, Any] = {
        "notes": [_FOUND, other],
        "plan": [step(n["question"]) for n in (_FOUND, other)],
    }
    update = verify(
        state(route="deep", approval="rewrite", draft=_HALTED, evidence=_HELD, **fields), make(taught=True)
    )
    assert update["answer"] == f"{_HALTED} {_MISSING}"


def test_an_earlier_version_is_no_source_where_the_latest_is_likely_to_answer(make: Make) -> None:
    early, late = "The shop closes at four on Mondays", "Closing early on Mondays was dropped again"
    held = [
        evidence(1, f"{early}.", document="minutes/2024-03-12.md"),
        evidence(2, f"{late}.", document="minutes/2024-04-16.md", score=0.9),
    ]

    def cites(question: str, draft: str) -> list[int]:
        update = verify(
            state(question=question, route="single", draft=draft, evidence=held, notes=[_FOUND]), make()
        )
        return [number for claim in update["claims"] for number in claim["cites"]]

    assert cites("When does the shop close?", f"{early} [2].") == [2]
    assert cites("When did the shop close in March 2024?", f"{early} [2].") == [1]
    assert cites("When does the shop close?", f"{late} [2]. {early} [1].") == [2, 1], "where it is told of"


_NINTH, _SIXTEENTH = "The weekend is on 9 May.", "The weekend is on 16 May."
_EARLY, _LATE = "2026-03-12", "2026-04-02"


@pytest.mark.parametrize(
    ("dates", "unit", "marked", "refuted", "changes", "doubted"),
    [
        ((_EARLY, _LATE), _SIXTEENTH, 0.6, 0.0, {}, True),
        ((_EARLY, _LATE), _SIXTEENTH, 0.1, 0.9, {}, True),
        ((_EARLY, _LATE), _SIXTEENTH, 0.1, 0.7, {}, False),
        ((_LATE, _EARLY), _SIXTEENTH, 0.6, 0.9, {}, False),
        (("", _LATE), _SIXTEENTH, 0.6, 0.9, {}, False),  # which is later is unknown
        ((_EARLY, _LATE), _NINTH, 0.6, 0.0, {}, False),
        ((_EARLY, _LATE), _SIXTEENTH, 0.6, 0.9, {"route": "deep"}, False),  # both may be asked for
        ((_EARLY, _LATE), _SIXTEENTH, 0.6, 0.0, {"question": "When in May 2026?"}, False),  # not the latest
    ],
)
def test_what_a_later_document_may_say_otherwise_is_supported_in_part(
    make: Make,
    dates: tuple[str, str],
    unit: str,
    marked: float,
    refuted: float,
    changes: dict[str, Any],
    doubted: bool,
) -> None:
    cited = evidence(1, _NINTH, date=dates[0])
    day = unit.removeprefix("The weekend is on ").removesuffix(".")
    later = candidate(2, unit, date=dates[1], spans=[span(day, marked, unit)], score=0.6)
    reader = WordReader(supports=Support(0.05, refuted, 0.95 - refuted), judges=_YES)
    draft = {"draft": f"{_NINTH.rstrip('.')} [1].", "evidence": [cited], "candidates": [later]}
    update = verify(state(**{"route": "single", **draft, **changes}), make(reader=reader))
    assert [unit in claim["reason"] for claim in update["claims"]] == [doubted]


def test_what_overrules_the_model_is_never_sure(make: Make) -> None:
    draft = {"draft": "Dogs may be kept [1].", "evidence": [evidence(1, "Dogs may be kept.")]}
    for status, verdict in (("", "supported"), ("overruled", "unsure")):
        deps = make(reader=WordReader(supports=_YES, judges=_YES))
        update = verify(state(question="Which pets?", route="single", status=status, **draft), deps)
        assert [claim["verdict"] for claim in update["claims"]] == [verdict]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Dogs may be kept.", "supported"),
        ("Yes, dogs may be kept.", "unsure"),
        ("No. Dogs may be kept.", "unsure"),
        ("Nein – dogs may be kept.", "unsure"),
        ("是的，dogs may be kept.", "unsure"),
        ("No dogs may be kept.", "supported"),  # the sentence itself denies
    ],
)
def test_a_yes_or_a_no_is_never_sure(make: Make, text: str, verdict: Verdict) -> None:
    reader = WordReader(supports=_YES, judges=_YES)
    cited = evidence(1, "Dogs may be kept.")
    draft = {"draft": f"{text.rstrip('.')} [1].", "evidence": [cited], "notes": [_FOUND]}
    update = verify(state(question="May I keep dogs?", route="single", **draft), make(reader=reader))
    assert {claim["verdict"] for claim in update["claims"]} == {verdict}


# --- what becomes of an answer that is not grounded -------------------------------------------------


def test_never_has_it_rewritten_once_and_then_withheld(make: Make) -> None:
    deps = make(approve="never")
    assert approve(state(), deps) == {"approval": "rewrite", "spent": ["rewrite"]}
    update = approve(state(approval="rewrite"), deps)
    assert (update["status"], update["answer"]) == ("rejected", WITHHELD)


def test_a_rewriting_is_not_offered_twice(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    offers: list[list[str]] = []

    def reply(request: dict[str, Any]) -> dict[str, str]:
        offers.append(request["options"])
        return {"reply": "rewrite" if "rewrite" in request["options"] else "accept"}

    monkeypatch.setattr("langgraph.types.interrupt", reply)
    unsupported = {"claims": [_claim("It burned.", 1)]}
    update = approve(state(**unsupported), make(approve="ask"))
    approve(state(**unsupported, **update), make(approve="ask"))
    assert offers == [["accept", "rewrite", "search", "stop"], ["accept", "search", "stop"]]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who paid?", "All production halted for seven weeks."),  # which does not answer
        ("Wer hat gezahlt?", "Die Produktion stand sieben Wochen still."),  # which the reader cannot check
    ],
)
def test_nobody_is_asked_about_an_answer_in_which_nothing_is_unsupported(
    make: Make, idle_session: Session, question: str, text: str
) -> None:
    claims = verify_by_reader(_Answering("Why?"), idle_session, [question], [_claim(text, 1)], [_FIRE])
    assert claims[0]["verdict"] == "unsure"
    assert approve(state(claims=claims), make(approve="ask")) == {"approval": "accept"}
