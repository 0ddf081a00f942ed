"""Step ``reflect``: a finding stands in a passage; neither reader nor model is alone in finding nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import agent.events as ev
from agent.deps import Finding, Spans
from agent.prompts import NOT_FOUND
from agent.session import Session
from agent.state import Evidence, RunState, updated
from agent.steps.reflect import SURE, current, read_finding, reflect
from agent.steps.rerank import POSSIBLE
from tests.agent.made import candidate, evidence, only, scripted, span, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import Scripted, WordReader

_FIRE = "A fire halted production for seven weeks."
_HELD = [
    evidence(1, f"It was cold. {_FIRE}"),
    evidence(2, "Segment revenue\nIn millions | 2024\nServices | 236.4", kind="table", score=0.4),
]
_WEEKS, _COLD, _FIGURE = "seven weeks", "cold", "236.4"


_read = partial(read_finding, WordReader({"How long?": ("5 weeks", 0.5)}))


def _reflect(reply: Scripted, spans: Spans, held: list[Evidence] = _HELD) -> Finding:
    with scripted(reply) as session:
        return _read(session, [], "How long?", held, spans)


def test_a_sure_reader_is_taken_at_its_word_and_no_model_is_asked(idle_session: Session) -> None:
    spans = {2: [span(_FIGURE, 0.3, "Services: 236.4 (2024)")], 1: [span(_WEEKS, SURE, _FIRE)]}
    finding = _read(idle_session, [], "How long?", _HELD, spans)
    assert finding == Finding(True, _FIRE, _WEEKS, [1], "reader")


@pytest.mark.parametrize(
    ("answer", "number", "sentence"), [(_FIGURE, 2, "Services | 236.4"), (_WEEKS, 1, _FIRE)]
)
def test_an_unsure_reader_leaves_it_to_the_model_whose_words_get_their_passage_and_sentence(
    answer: str, number: int, sentence: str
) -> None:
    found = _reflect((_FIRE, answer), {number: [span(answer, 0.3)]})
    assert found == Finding(True, sentence, answer, [number], "model")


@pytest.mark.parametrize("answer", ["", NOT_FOUND, "Zanzibar Copper", "eight weeks and 4 days"])
def test_what_is_empty_or_stands_in_no_passage_is_no_finding(answer: str) -> None:
    finding = _reflect(answer, {1: [span(_WEEKS, 0.4)], 2: [span(_FIGURE, 0.4)]})
    assert (finding.found, finding.cites, finding.origin) == (False, [], "model")


@pytest.mark.parametrize(
    ("spans", "relevance", "found"),
    [
        ({1: [span(_WEEKS, 0.1)]}, 0.0, True),  # a span agrees
        ({1: [span(_WEEKS, 0.09)]}, 0.0, False),  # … but is improbable
        ({1: [span(_COLD, 0.4)]}, 0.0, False),  # another one does
        ({2: [span(_WEEKS, 0.4)]}, 0.0, False),  # it agrees in another passage
        ({}, SURE, True),  # the passage answers, wherever in it
        ({}, 0.49, False),
    ],
)
def test_the_model_is_not_alone_in_finding_an_answer(spans: Spans, relevance: float, found: bool) -> None:
    held = [Evidence({**_HELD[0], "relevance": relevance}), _HELD[1]]
    assert _reflect(_WEEKS, spans, held).cites == ([1] if found else [])


def test_the_reader_finds_the_short_answer_and_a_passage_that_does_not_only_hold_the_words() -> None:
    held = [evidence(1, "Sales were 5 weeks late."), evidence(2, "The register lists 5 weeks of stock.")]
    finding = _reflect("The sales were 5 weeks late.", {1: [span("5 weeks", 0.4)]}, held[:1])
    assert finding.answer == "5 weeks"
    finding = _reflect("5 weeks", {2: [span("5 weeks", 0.4)]}, held)
    assert finding.cites == [2]


# --- the step ---------------------------------------------------------------------------------------

_QUESTION = "What was the net revenue of Orlavane for fiscal 2024?"
_TEXT = "Net revenue of Orlavane for fiscal 2024 was $1,284.6 million."
_REVENUE = "$1,284.6 million"


def _before(probability: float, **changes: Any) -> RunState:
    marked = [span(_REVENUE, probability, _TEXT)]
    return state(
        **{
            "plan": [step(_QUESTION)],
            "position": 0,
            "step": 1,
            "query": _QUESTION,
            "candidates": [candidate(2, _TEXT, spans=marked, scores={"relevance": 0.7})],
            "evidence": [evidence(1, "Something else."), evidence(2, _TEXT)],
            **changes,
        }
    )


def test_a_step_without_candidates_finds_nothing_and_asks_nothing(make: Make, events: Events) -> None:
    update = reflect(state(plan=[step(_QUESTION)], position=0, step=1), make())
    assert not update["notes"][0]["found"]
    assert update["notebook"] == ["FINDING 1: not found."]
    assert [type(event) for event in events] == [ev.Noted, ev.NotebookGrew]


def test_what_the_reader_is_sure_of_is_noted_without_asking(make: Make, events: Events) -> None:
    update = reflect(_before(0.95), make())
    (found,) = update["notes"]
    assert (found["answer"], found["sentence"], found["cites"]) == (_REVENUE, _TEXT, [2])
    assert (found["sure"], found["relevance"]) == (True, 0.7)
    assert isinstance(events[0], ev.Noted)
    assert events[0].origin == "reader"
    assert update["notebook"] == [f"FINDING 1: {_REVENUE} [2]"]


def test_of_what_a_later_step_needs_the_model_is_asked_about_the_steps_own_passages(make: Make) -> None:
    needed = _before(0.3, plan=[step(_QUESTION), step("Who earned #1?")])
    (found,) = reflect(needed, make([(f"[2] {_TEXT}", _REVENUE)]))["notes"]
    assert (found["answer"], found["cites"], found["sure"]) == (_REVENUE, [2], False)
    (elsewhere,) = reflect(needed, make(["Something else"]))["notes"]
    assert not elsewhere["found"]


@pytest.mark.parametrize(
    ("route", "probability", "found"),
    [
        ("deep", POSSIBLE, True),
        ("deep", POSSIBLE - 0.01, False),
        ("single", SURE, True),  # of a single look-up nobody is asked: the answer is written from it
        ("single", SURE - 0.01, False),
    ],
)
def test_what_no_later_step_needs_is_the_readers_best_span(
    make: Make, route: str, probability: float, found: bool
) -> None:
    unrelated = [step(_QUESTION), step("Who earned #2?")]
    (one,) = reflect(_before(probability, plan=unrelated, route=route), make())["notes"]
    assert (one["found"], one["answer"]) == (found, _REVENUE if found else "")


def test_the_seed_asks_of_a_single_look_up_as_well(make: Make) -> None:
    reply = {"source": 2, "answer": _REVENUE, "sentence": "It was $1,284.6 million."}
    (found,) = reflect(_before(0.95, route="single"), make([reply], profile_name="seed"))["notes"]
    assert (found["sentence"], found["sure"]) == ("It was $1,284.6 million.", False)


def test_the_likeliest_passage_is_followed_and_not_the_surest_span_of_another(make: Make) -> None:
    hire, charge = "Skip hire was 212 euros.", "The late charge is 5 euros."
    held = [evidence(1, hire), evidence(2, charge)]
    found = [
        candidate(1, hire, spans=[span("212 euros", 0.91, hire)], score=0.9),
        candidate(2, charge, spans=[span("5 euros", 0.92, charge)], score=0.7),
    ]
    asked = _before(0.0, plan=[step("How much was the skip hire?")], evidence=held, candidates=found)
    (taken,) = reflect(asked, make())["notes"]
    assert taken["answer"] == "212 euros"


def test_the_later_version_is_followed_and_the_earlier_one_told(make: Make, events: Events) -> None:
    old, new = "The fee is 40 euros.", "The fee is 45 euros."
    held = [
        evidence(1, old, document="fees-2023.md", title="Fees", date="2023-01-01"),
        evidence(2, new, document="fees-2024.md", title="Fees", date="2024-01-01"),
    ]
    found = [
        candidate(1, old, spans=[span("40 euros", 0.95, old)]),
        candidate(2, new, spans=[span("45 euros", 0.6, new)]),
    ]
    asked = _before(0.0, plan=[step("How much is the fee?")], evidence=held, candidates=found)
    (latest,) = reflect(asked, make())["notes"]
    assert (latest["answer"], latest["cites"], latest["earlier"]["answer"]) == ("45 euros", [2], "40 euros")
    assert only(events, ev.Contradicted)
    dated = _before(0.0, plan=[step("How much was the fee in 2023?")], evidence=held, candidates=found)
    (named,) = reflect(dated, make())["notes"]
    assert (named["answer"], "earlier" in named) == ("40 euros", False)


def test_what_the_latest_version_has_in_its_place_is_not_read() -> None:
    head = "Fees of the practice\nService | Dog | Cat | Rabbit\n"
    old = evidence(1, f"{head}Spay | 390 | 196 | 210", document="fees-2025.csv", score=0.6)
    new = evidence(2, f"{head}Spay | 420 | 214 | 228", document="fees-2026.csv", score=0.2)
    other = evidence(3, "Nobody is treated on credit.", document="fees-2026.csv", score=0.2)
    asked = state(question="What does spaying a rabbit cost?", route="single", evidence=[old, new, other])
    assert current(asked) == [new, other]
    assert current(asked, cited=[1]) == [old, new, other]
    assert current(updated(asked, {"evidence": [old, other]})) == [old, other]
    assert current(updated(asked, {"route": "deep"})) == [old, new, other]
    assert current(updated(asked, {"question": "What did it cost in 2025?"})) == [old, new, other]


def test_what_a_later_version_is_likely_to_answer_is_not_read_in_an_earlier() -> None:
    """Whatever the latest has."""
    minutes = [
        evidence(1, "Hannelore looks after the list.", document="minutes-02.txt", date="2024-02-08"),
        evidence(2, "From May on Ravi looks after it.", document="minutes-04.txt", date="2024-04-11"),
        evidence(3, "The roof is dry again.", document="minutes-09.txt", date="2024-09-19"),
    ]
    scored = [
        Evidence({**item, "title": "Minutes", "score": score})
        for item, score in zip(minutes, (0.9, 0.6, 0.1), strict=True)
    ]
    asked = state(question="Who looks after the waiting list?", route="single", evidence=scored)
    assert [item["number"] for item in current(asked)] == [2, 3]
    scored[1] = Evidence({**scored[1], "score": 0.4})
    assert [item["number"] for item in current(asked)] == [1, 2, 3]
