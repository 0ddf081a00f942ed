"""A finding stands in a passage, or it is none; neither reader nor model is alone in finding nothing."""

from __future__ import annotations

from typing import Any

import pytest
from agent.cognition.reflecting import (
    SURE,
    ExtractiveReflector,
    Finding,
    ModelReflector,
    ReadingReflector,
    Reflector,
    Spans,
    best_span,
)

from agent.budget import Budget
from agent.session import Session
from agent.state import AnswerSpan, Evidence
from models.scripted import Scripted, ScriptedChat
from tests.agent.evidence import evidence

_FIRE = "A fire halted production for seven weeks."
_HELD = [
    evidence(1, f"It was cold. {_FIRE}"),
    evidence(2, "Segment revenue\nIn millions | 2024\nServices | 236.4", kind="table"),
]


def _span(text: str, probability: float, unit: str = _FIRE) -> AnswerSpan:
    return AnswerSpan(text=text, unit=unit, probability=probability)


def _relevant(item: Evidence, relevance: float) -> Evidence:
    return Evidence({**item, "relevance": relevance})


def _reflect(
    reply: Scripted,
    spans: Spans,
    held: list[Evidence] = _HELD,
    reflector: Reflector | None = None,
) -> Finding:
    with ScriptedChat([reply]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        return (reflector or ReadingReflector()).reflect(session, [], "How long?", held, spans)


def test_a_sure_reader_is_taken_at_its_word_and_no_model_is_asked(idle_session: Session) -> None:
    spans = {2: [_span("236.4", 0.3, "Services: 236.4 (2024)")], 1: [_span("seven weeks", SURE)]}
    finding = ReadingReflector().reflect(idle_session, [], "How long?", _HELD, spans)
    assert finding == Finding(True, _FIRE, "seven weeks", [1], "reader")


def test_an_unsure_reader_shows_its_candidates_to_the_model_the_likeliest_first() -> None:
    spans = {1: [_span("seven weeks", 0.4), _span("cold", 0.1)], 2: [_span("236.4", 0.2), _span(" ", 0.15)]}
    asked = ("[1] “seven weeks”; [2] “236.4”\n", {"source": 1, "answer": "seven weeks"})
    finding = _reflect(asked, spans)
    assert (finding.answer, finding.cites, finding.origin) == ("seven weeks", [1], "model")


def test_the_models_answer_gets_the_sentence_of_its_passage() -> None:
    finding = _reflect({"source": 1, "answer": "seven weeks"}, {1: [_span("seven weeks", 0.3)]})
    assert finding.sentence == _FIRE
    table = _reflect({"source": 2, "answer": "236.4"}, {2: [_span("236.4", 0.3)]})
    assert table.sentence == "Services | 236.4"


@pytest.mark.parametrize("source", [0, 1, 99])
def test_a_wrong_source_is_corrected(source: int) -> None:
    assert _reflect({"source": source, "answer": "236.4"}, {2: [_span("236.4", 0.3)]}).cites == [2]


@pytest.mark.parametrize(
    "reply",
    [
        {"source": 0, "answer": ""},
        {"source": 1, "answer": ""},
        {"source": 1, "answer": "Not found."},
        {"source": 1, "answer": "Zanzibar Copper"},
        {"source": 1, "answer": "eight weeks and 4 days"},
    ],
)
def test_what_is_empty_or_stands_in_no_passage_is_no_finding(reply: dict[str, Any]) -> None:
    finding = _reflect(reply, {1: [_span("seven weeks", 0.4)], 2: [_span("236.4", 0.4)]})
    assert (finding.found, finding.cites, finding.origin) == (False, [], "model")


@pytest.mark.parametrize(
    ("spans", "relevance", "found"),
    [
        ({1: [_span("seven weeks", 0.1)]}, 0.0, True),  # a span agrees
        ({1: [_span("seven weeks", 0.09)]}, 0.0, False),  # … but is improbable
        ({1: [_span("cold", 0.4)]}, 0.0, False),  # another one does
        ({2: [_span("seven weeks", 0.4)]}, 0.0, False),  # it agrees in another passage
        ({}, SURE, True),  # the passage answers, wherever in it
        ({}, 0.49, False),
    ],
)
def test_the_model_is_not_alone_in_finding_an_answer(spans: Spans, relevance: float, found: bool) -> None:
    held = [_relevant(_HELD[0], relevance), _HELD[1]]
    finding = _reflect({"source": 1, "answer": "seven weeks"}, spans, held)
    assert finding.found is found
    assert finding.cites == ([1] if found else [])


def test_a_passage_that_the_reader_agrees_to_takes_the_place_of_one_that_only_holds_the_words() -> None:
    held = [evidence(1, "Sales were 5 weeks late."), evidence(2, "The register lists 5 weeks of stock.")]
    spans = {2: [_span("5 weeks", 0.4, held[1]["text"])]}
    finding = _reflect({"source": 1, "answer": "5 weeks"}, spans, held)
    assert (finding.found, finding.cites) == (True, [2])


def test_the_seeds_reflector_writes_its_own_sentence() -> None:
    reply = {"source": 1, "answer": "seven weeks", "sentence": "Production stood still for seven weeks."}
    finding = _reflect(reply, {}, reflector=ModelReflector())
    assert finding.sentence == "Production stood still for seven weeks."


def test_without_a_model_the_best_excerpt_is_the_finding(idle_session: Session) -> None:
    finding = ExtractiveReflector().reflect(idle_session, [], "What?", _HELD, {})
    assert finding.cites == [1]


def test_the_best_span_is_the_most_probable_of_all_passages() -> None:
    spans = {1: [_span("cold", 0.2)], 2: [_span("236.4", 0.3), _span("2024", 0.1)]}
    found = best_span(spans)
    assert found is not None
    assert (found[0], found[1]["text"]) == (2, "236.4")
    assert best_span({1: []}) is None
