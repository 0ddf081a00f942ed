"""Step ``look``: the question itself is searched and read before anything is planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import agent.events as ev
from agent.steps.look import look, single_shot
from models.protocols import Reading
from tests.agent.made import candidate, only, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import WordReader

QUESTION = "Who supplies Orlavane's ceramic bearings?"
SURE = WordReader({QUESTION: ("Tolvang Ceramics", 0.9)})


def test_the_best_passages_are_kept_best_first(make: Make, events: Events) -> None:
    update = look(state(route="deep"), make(evidence_limit=2))
    assert update["looked"][0]["document"] == "annual-report"
    scores = [one["score"] for one in update["looked"]]
    assert (len(scores), scores) == (2, sorted(scores, reverse=True))
    (entry,) = update["notebook"]
    assert entry.startswith(f"QUESTION: {QUESTION}")
    assert "- reports: the reports of Orlavane" in entry
    assert events[-1] == ev.NotebookGrew(entry)


def test_a_question_gets_a_first_look_before_it_is_planned(make: Make, events: Events) -> None:
    update = look(state(route=""), make(reader=SURE))
    (found,) = only(events, ev.FirstLook)
    sentence = "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics."
    assert (found.answer, found.sentence) == ("Tolvang Ceramics", sentence)
    assert (found.title, found.page, found.probability) == ("Annual report", None, 0.9)
    assert found.passage_id in [one["passage_id"] for one in update["looked"]]


def test_a_likely_answer_is_shown_before_the_other_passages_are_read(
    make: Make, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    class Counting(WordReader):
        def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
            counts.append(sum(isinstance(event, ev.FirstLook) for event in events))
            return super().read(question, passages)

    monkeypatch.setattr("agent.steps.look._FIRST", 1)
    look(state(route=""), make(reader=Counting({QUESTION: ("Tolvang Ceramics", 0.9)})))
    assert counts == [0, 1]
    assert sum(isinstance(event, ev.FirstLook) for event in events) == 1


@pytest.mark.parametrize(
    ("question", "reader"),
    [
        (QUESTION, WordReader({QUESTION: ("Tolvang Ceramics", 0.4)}, reads=0.9)),  # no likely answer
        (QUESTION, WordReader({QUESTION: ("Tolvang Ceramics", 0.9)}, reads=0.4)),  # no likely passage
        (QUESTION, WordReader()),  # nothing marked
        ("谁供应 Orlavane 的 bearings?", WordReader()),  # in another script: the one that shares most words
    ],
)
def test_without_a_likely_answer_the_nearest_sentence_is_shown(
    make: Make, events: Events, question: str, reader: WordReader
) -> None:
    look(state(question=question), make(reader=reader))
    (nearest,) = only(events, ev.FirstLook)
    assert (nearest.answer, "Tolvang Ceramics" in nearest.sentence) == ("", True)


@pytest.mark.parametrize("changes", [{"profile_name": "seed"}, {"search_limit": 0}])
def test_others_get_none(make: Make, events: Events, changes: dict[str, Any]) -> None:
    update = look(state(route=""), make(**{"reader": SURE, **changes}))
    assert [type(event) for event in events] == [ev.NotebookGrew]
    assert not update["looked"]


@pytest.mark.parametrize(("found", "is_follow_up"), [(0.0, False), (0.5, False), (0.7, True)])
def test_a_question_is_asked_as_typed_where_that_finds_a_clearly_likelier_answer(
    make: Make, events: Events, found: float, is_follow_up: bool
) -> None:
    rewritten = "Onions harvested?"
    reader = WordReader({QUESTION: ("Tolvang Ceramics", 0.9), rewritten: ("Tolvang", found)})
    turns = [{"question": "When did Avelin open?", "answer": "In 1987."}]
    plan = [step("Onions?"), step("Harvested?")]
    before = state(asked=QUESTION, question=rewritten, route="deep", plan=plan, turns=turns)
    update = {**before, **look(before, make(reader=reader))}
    assert (update["question"], update["route"]) == (
        (rewritten, "deep") if is_follow_up else (QUESTION, "single")
    )
    assert [one["question"] for one in update["plan"]] == (
        ["Onions?", "Harvested?"] if is_follow_up else [QUESTION]
    )
    assert len(only(events, ev.Routed)) == (not is_follow_up)


_LOST = "Who supplies Avelin's bearings?"  # "ceramic" is lost
_TYPED = "Who supplies the ceramic bearings?"
_KEPT = "Who supplies Avelin's ceramic bearings?"
_EARLIER = "When did Orlavane open?"


@pytest.mark.parametrize(
    ("typed", "rewritten", "route", "found", "context"),
    [
        (_TYPED, _LOST, "single", 0.6, _EARLIER),
        (_TYPED, _LOST, "single", 0.9, _LOST),
        (_TYPED, "Who supplies bearings of Avelin?", "single", 0.1, _EARLIER),
        (_TYPED, _LOST, "deep", 0.6, ""),
        (_TYPED, _KEPT, "single", 0.6, ""),
        ("And who?", _LOST, "single", 0.6, ""),  # none that tells anything
    ],
)
def test_a_follow_up_that_lost_words_is_asked_as_typed_with_what_finds_more(
    make: Make, typed: str, rewritten: str, route: str, found: float, context: str
) -> None:
    reader = WordReader(
        {
            f"{typed} ({_EARLIER})": ("Tolvang Ceramics", 0.7),
            rewritten: ("Tolvang", found),
            f"{typed} ({rewritten})": ("Tolvang", 0.3),
        }
    )
    turns = [{"question": _EARLIER, "answer": "In 1987."}]
    before = state(asked=typed, question=rewritten, route=route, turns=turns)
    update = {**before, **look(before, make(reader=reader))}
    assert update["question"] == (f"{typed} ({context})" if context else rewritten)


@pytest.mark.parametrize(
    ("plan", "best", "tool"),
    [
        ([step("In other words?", tool="news")], [], "news"),
        ([step("a"), step("b", tool="news")], [], ""),
        ([step("In other words?", tool="news")], ["news"], "news"),
        ([step("In other words?", tool="news")], ["reports"], ""),  # the best passage is in another
    ],
)
def test_a_single_look_up_is_the_question_itself_where_the_plan_prefers(
    make: Make, plan: list[object], best: list[str], tool: str
) -> None:
    looked = [candidate(1, "Onions are harvested in May.", collection=name) for name in best]
    assert single_shot(state(plan=plan, looked=looked), make())["plan"] == [step(QUESTION, tool=tool)]
