"""Step ``grade``: CRAG's three grades, from the reader and from the model, and all together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import agent.events as ev
from agent.session import Session
from agent.state import Candidate, Grade
from agent.steps.grade import grade, grade_by_model, grade_by_reader
from tests.agent.made import candidate, only, scripted, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import Scripted

_QUESTION = "How many people did Orlavane employ in 2024?"
_GOLD = candidate(1, "Orlavane employed 3,940 people at the end of 2024.", score=0.97)
_NEAR = candidate(2, "Orlavane closed a plant in Ohio.", score=0.2)
_OFF = candidate(3, "Lunch is served at noon.", score=0.001)


@pytest.mark.parametrize(
    ("score", "expected"),
    [(1.0, "correct"), (0.5, "correct"), (0.49, "ambiguous"), (0.05, "ambiguous"), (0.049, "incorrect")],
)
def test_the_probability_is_cut_in_three(idle_session: Session, score: float, expected: Grade) -> None:
    read = [_GOLD, candidate(4, "x", score=score)]  # each is graded for itself
    assert grade_by_reader(idle_session, [], _QUESTION, read)[1] == (expected, score)


def _asked(
    replies: Sequence[Scripted], candidates: list[Candidate], context_tokens: int = 8192
) -> tuple[list[str], list[ev.Event]]:
    events: list[ev.Event] = []
    with scripted(*replies, emit=events.append, context_tokens=context_tokens) as session:
        graded = grade_by_model(session, ["QUESTION: q"], _QUESTION, candidates)
    return [one for one, _ in graded], only(events, ev.Warned)


def test_the_model_grades_all_passages_in_one_call_and_is_asked_again_for_what_it_leaves_out() -> None:
    reply = ("(C) Annual report. Lunch", {"A": "correct", "B": "ambiguous", "C": "incorrect"})
    assert _asked([reply], [_GOLD, _NEAR, _OFF]) == (["correct", "ambiguous", "incorrect"], [])
    assert _asked([], [])[0] == []
    replies: list[Scripted] = [{"A": "correct"}, ("could not be used", {"A": "correct", "B": "incorrect"})]
    assert _asked(replies, [_GOLD, _OFF])[0] == ["correct", "incorrect"]
    grades, warned = _asked(["They are all nice.", "Very nice."], [_GOLD, _OFF])
    assert (grades, bool(warned)) == (["ambiguous", "ambiguous"], True)
    # A passage without room is ambiguous.
    long = candidate(4, "word " * 400)
    grades, _ = _asked([{"A": "correct"}], [_GOLD, long, _OFF], context_tokens=700)
    assert grades == ["correct", "ambiguous", "ambiguous"]
    assert _asked([], [long], context_tokens=700)[0] == ["ambiguous"]


def _before(*candidates: Candidate) -> dict[str, object]:
    return {"plan": [step(_QUESTION)], "position": 0, "step": 1, "candidates": list(candidates)}


def test_one_correct_passage_is_enough(make: Make, events: Events) -> None:
    update = grade(state(**_before(_GOLD, _OFF)), make())
    assert (update["grade"], [c["grade"] for c in update["candidates"]]) == (
        "correct",
        ["correct", "incorrect"],
    )
    (event,) = only(events, ev.Graded)
    assert (event.grade, event.passages, event.grades) == ("correct", [1, 3], ["correct", "incorrect"])
    assert grade(state(**_before()), make())["grade"] == "incorrect"


def test_the_better_graded_comes_first_and_one_far_behind_is_not_kept(make: Make) -> None:
    deps = make([(_QUESTION, {"A": "incorrect", "B": "ambiguous"})], profile_name="seed")
    update = grade(state(**_before(_GOLD, _OFF)), deps)
    graded = [(c["passage_id"], c["grade"]) for c in update["candidates"]]
    assert (graded, update["grade"]) == ([(3, "ambiguous"), (1, "incorrect")], "ambiguous")
    far = candidate(5, "Orlavane is in Ohio.", score=0.06)
    (_, behind) = grade(state(**_before(candidate(4, "x", score=1.0), far)), make())["candidates"]
    assert behind["grade"] == "ambiguous"
