"""Node ``look``: the question itself is searched and read before anything is planned."""

from __future__ import annotations

import pytest
from agent.cognition.reflecting import LIKELY
from agent.nodes.look import look

import agent.events as ev
from models.scripted import WordReader
from tests.agent.nodes.conftest import Make, state

QUESTION = "Who supplies Orlavane's ceramic bearings?"
SENTENCE = "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics."


def _reader(probability: float) -> WordReader:
    return WordReader({QUESTION: ("Tolvang Ceramics", probability)})


def test_the_best_passages_are_kept_best_first(make: Make, events: list[ev.Event]) -> None:
    deps = make(kept=2)
    update = look(state(route="deep"), deps)
    assert update["looked"][0]["document"] == "annual-report"
    scores = [one["score"] for one in update["looked"]]
    assert (len(scores), scores) == (2, sorted(scores, reverse=True))
    (entry,) = update["notebook"]
    assert entry.startswith(f"QUESTION: {QUESTION}")
    assert "- reports: the reports of Orlavane" in entry
    assert events == [ev.NotebookGrew(entry)], "the reader marks nothing: there is no first look"


def test_a_deep_question_gets_a_first_look(make: Make, events: list[ev.Event]) -> None:
    update = look(state(route="deep", settled=True), make(reader=_reader(0.9)))
    assert update["route"] == "deep"
    (found,) = [event for event in events if isinstance(event, ev.FirstLook)]
    assert (found.answer, found.sentence) == ("Tolvang Ceramics", SENTENCE)
    assert (found.title, found.page, found.probability) == ("Annual report", None, 0.9)
    assert found.passage_id in [one["passage_id"] for one in update["looked"]]


@pytest.mark.parametrize(
    ("route", "settled", "probability", "becomes"),
    [
        ("deep", False, LIKELY, "single"),
        ("deep", False, LIKELY - 0.01, "deep"),
        ("deep", True, LIKELY, "deep"),  # it needs several look-ups, whatever the reader finds
        ("", False, 0.2, "deep"),
        ("single", True, 0.1, "single"),
    ],
)
def test_a_likely_answer_makes_an_open_question_a_single_look_up(
    make: Make, events: list[ev.Event], route: str, settled: bool, probability: float, becomes: str
) -> None:
    update = look(state(route=route, settled=settled), make(reader=_reader(probability)))
    assert update["route"] == becomes
    told = [event.route for event in events if isinstance(event, ev.Routed)]
    assert told == (["single"] if becomes == "single" and route != "single" else [])
    # A single look-up has its answer at once.
    assert any(isinstance(event, ev.FirstLook) for event in events) == (becomes == "deep")


def test_the_seed_does_not_look(make: Make) -> None:
    update = look(state(route="deep"), make(profile_name="seed", reader=_reader(0.9)))
    assert set(update) == {"route", "notebook"}


def test_a_library_without_passages_shows_nothing(make: Make, events: list[ev.Event]) -> None:
    update = look(state(route="deep"), make(reader=_reader(0.9), recalled=0))
    assert (update["route"], update["looked"]) == ("deep", [])
    assert [type(event) for event in events] == [ev.NotebookGrew]
