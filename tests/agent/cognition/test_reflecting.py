"""A finding stands in a passage, or it is none."""

from __future__ import annotations

import pytest

from agent.budget import Budget
from agent.cognition.reflecting import ExtractiveReflector, Finding, ModelReflector, QuotingReflector
from agent.session import Session
from models.scripted import Scripted, ScriptedChat
from tests.agent.evidence import evidence

_HELD = [
    evidence(1, "It was cold. A fire halted production for seven weeks."),
    evidence(2, "Segment revenue\nIn millions | 2024\nServices | 236.4", kind="table"),
]


def _reflect(reply: Scripted, reflector: QuotingReflector | ModelReflector) -> Finding:
    with ScriptedChat([reply]) as chat:
        return reflector.reflect(Session(chat, Budget(), lambda _event: None), [], "What?", "What?", _HELD)


def test_the_sentence_is_the_passages_own() -> None:
    finding = _reflect({"source": 1, "answer": "seven weeks"}, QuotingReflector())
    assert finding.sentence == "A fire halted production for seven weeks."
    assert (finding.answer, finding.cites, finding.found) == ("seven weeks", [1], True)


def test_a_table_is_quoted_by_its_row() -> None:
    assert _reflect({"source": 2, "answer": "236.4"}, QuotingReflector()).sentence == "Services | 236.4"


@pytest.mark.parametrize("source", [0, 1, 99])
def test_a_wrong_source_is_corrected(source: int) -> None:
    assert _reflect({"source": source, "answer": "236.4"}, QuotingReflector()).cites == [2]


@pytest.mark.parametrize(
    "reply",
    [
        {"source": 0, "answer": ""},
        {"source": 1, "answer": ""},
        {"source": 1, "answer": "Not found."},
        {"source": 1, "answer": "Zanzibar Copper"},
    ],
)
def test_what_is_no_finding(reply: Scripted) -> None:
    assert not _reflect(reply, QuotingReflector()).found


def test_the_seeds_reflector_writes_its_own_sentence() -> None:
    reply = {"source": 1, "answer": "seven weeks", "sentence": "Production stood still for seven weeks."}
    assert _reflect(reply, ModelReflector()).sentence == "Production stood still for seven weeks."


def test_without_a_model_the_best_excerpt_is_the_finding(idle_session: Session) -> None:
    finding = ExtractiveReflector().reflect(idle_session, [], "What?", "What?", _HELD)
    assert finding.cites == [1]


def test_several_named_rows_are_read_without_the_model(idle_session: Session) -> None:
    table = evidence(
        3,
        "In millions | 2024 | 2023\nServices | 236.4 | 214.9\nBuildings | 700.1 | \nTotal | 936.5 | 864.9",
        kind="table",
    )
    finding = QuotingReflector().reflect(
        idle_session, [], "What was each?", "What was each? Services and Buildings", [*_HELD, table]
    )
    assert finding.answer == "Services: 236.4 (2024), 214.9 (2023); Buildings: 700.1 (2024)"
    assert (finding.cites, finding.origin) == ([3], "rule")


def test_one_named_cell_is_read_without_the_model(idle_session: Session) -> None:
    table = evidence(
        3,
        "Plant | Capacity | Utilization\nCalder Bend | 480 | 82%\nPort Ansel | 10,400 | 86%",
        kind="table",
    )
    finding = QuotingReflector().reflect(
        idle_session,
        [],
        "What was that plant's utilization?",
        "What was that plant's utilization? Calder Bend",
        [*_HELD, table],
    )
    assert (finding.answer, finding.sentence) == ("82%", "Calder Bend: 82% (Utilization)")
    assert (finding.cites, finding.origin) == ([3], "rule")


def test_an_answer_from_a_passage_that_does_not_say_it_is_no_finding() -> None:
    question = "How much did the insurer pay for the losses?"
    with ScriptedChat([{"source": 1, "answer": "seven weeks"}]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        finding = QuotingReflector().reflect(session, [], question, question, _HELD)
    assert not finding.found


def test_a_passage_that_says_it_takes_the_place_of_one_that_only_holds_the_answer() -> None:
    held = [
        evidence(1, "Sales were 5 units.", title="Other"),
        evidence(2, "The register lists 5 weeks of safety stock."),
    ]
    question = "How many weeks of safety stock does the register list?"
    with ScriptedChat([{"source": 1, "answer": "5"}]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        finding = QuotingReflector().reflect(session, [], question, question, held)
    assert (finding.found, finding.cites) == (True, [2])


@pytest.mark.parametrize(
    ("question", "answer", "short"),
    [
        ("Who is the painter of Marrow?", "Marrow is a 1914 oil-on-canvas painting by Ann Lee.", "Ann Lee"),
        ("What is the city where Ode died?", "Ode died after a long illness in Avelin.", "Avelin"),
        ("Who is the painter of Marrow?", "Marrow by Ann Lee", "Marrow by Ann Lee"),  # short as it is
        ("Who painted Marrow?", "Marrow was painted by Ann Lee or by Bob Ray.", None),  # which is not plain
        (
            "Why did Ode leave?",
            "Ode left because the plant in Avelin had burned.",
            None,
        ),  # asks for no name
    ],
)
def test_a_sentence_that_gives_one_name_is_shortened_to_it(
    question: str, answer: str, short: str | None
) -> None:
    with ScriptedChat([{"source": 1, "answer": answer}]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        finding = QuotingReflector().reflect(session, [], question, question, [evidence(1, answer)])
    assert finding.answer == (short or answer)


def test_what_a_named_thing_is_stands_at_the_beginning_of_its_passage(idle_session: Session) -> None:
    held = [
        evidence(1, "Odes was a village near Mount Varo.", title="Odes"),
        evidence(
            2,
            "Mount Varo (7,206 m) is the highest peak of Avelin. It was climbed in 1986.",
            title="Mount Varo",
        ),
    ]
    question = "What is Mount Varo?"
    finding = QuotingReflector().reflect(idle_session, [], question, question, held)
    assert finding.sentence == "Mount Varo (7,206 m) is the highest peak of Avelin."
    assert (finding.answer, finding.cites, finding.origin) == ("the highest peak of Avelin", [2], "rule")


def test_a_thing_with_no_passage_of_its_own_is_asked_of_the_model() -> None:
    held = [evidence(1, "Odes was a village near Mount Varo.", title="Odes")]
    with ScriptedChat([{"source": 0, "answer": ""}]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        assert not QuotingReflector().reflect(session, [], "What is Mount Varo?", "", held).found
